// Clients, a proxy and workers with mailboxes as of ZeroMQ: a message goes through memory, and an
// eventfd wakes a reader only where it sleeps. These are seven threads on two CPUs.
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <list>

#include "bench/accuracy/workload.h"

namespace {

constexpr int kClients = 4;
constexpr int kWorkers = 2;

enum class State { kAsked, kAnswered, kOver };

struct Message {
  Message* next = nullptr;
  State state = State::kAsked;
  int client = 0;
  uint64_t x = 1;
};

// Any thread puts, one takes.
class Mailbox {
 public:
  Mailbox() : wake_(eventfd(0, EFD_CLOEXEC)) {
    if (wake_ < 0) abort();
  }
  ~Mailbox() { close(wake_); }
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  void Put(Message* message) {
    Message* newest = newest_.load(std::memory_order_relaxed);
    do {
      message->next = newest == &asleep_ ? nullptr : newest;
    } while (!newest_.compare_exchange_weak(newest, message));
    const uint64_t one = 1;
    if (newest == &asleep_ && write(wake_, &one, sizeof(one)) != sizeof(one)) abort();
  }

  Message* Take() {
    while (oldest_ == nullptr) TakeAll();
    Message* const taken = oldest_;
    oldest_ = taken->next;
    return taken;
  }

 private:
  void TakeAll() {
    Message* newest = nullptr;
    if (newest_.compare_exchange_strong(newest, &asleep_)) {
      uint64_t wakes;
      if (read(wake_, &wakes, sizeof(wakes)) != sizeof(wakes)) abort();
    }
    newest = newest_.exchange(nullptr);
    while (newest != nullptr) {  // turns the list round
      Message* const next = newest->next;
      newest->next = oldest_;
      oldest_ = newest;
      newest = next;
    }
  }

  const int wake_;
  Message asleep_;  // the newest one while the reader sleeps
  std::atomic<Message*> newest_{nullptr};
  Message* oldest_ = nullptr;  // of those that the reader has taken
};

}  // namespace

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t answer = program.Steps("answer", 60);
  const uint64_t forward = program.Steps("forward", 8);
  workload::ShareCpus(2);
  Mailbox proxy;
  std::array<Mailbox, kWorkers> workers;
  std::array<Mailbox, kClients> clients;
  program.Start();
  std::list<workload::Thread> threads;
  for (Mailbox& inbox : workers) {
    threads.emplace_back(workload::kAnyCpu, [&proxy, &inbox, answer] {
      for (Message* message = inbox.Take(); message->state != State::kOver;
           message = inbox.Take()) {
        uint64_t x = message->x;
        WORK(x, answer);  // LINE(answer)
        message->x = x;
        message->state = State::kAnswered;
        proxy.Put(message);
      }
    });
  }
  for (int i = 0; i < kClients; ++i) {
    threads.emplace_back(workload::kAnyCpu, [&, i] {
      Message message;
      message.client = i;
      while (program.Running()) {
        message.state = State::kAsked;
        proxy.Put(&message);
        clients[static_cast<size_t>(i)].Take();
        VISIT("requests");
      }
      message.state = State::kOver;
      proxy.Put(&message);
      clients[static_cast<size_t>(i)].Take();  // the proxy has done with the message
    });
  }
  size_t next_worker = 0;
  for (int running = kClients; running != 0;) {
    Message* const message = proxy.Take();
    uint64_t x = message->x;
    WORK(x, forward);  // LINE(forward)
    workload::Keep(x);
    if (message->state == State::kOver) --running;
    if (message->state == State::kAsked) {
      workers[next_worker++ % kWorkers].Put(message);
    } else {
      clients[static_cast<size_t>(message->client)].Put(message);
    }
  }
  std::array<Message, kWorkers> last;
  for (size_t i = 0; i < kWorkers; ++i) {
    last[i].state = State::kOver;
    workers[i].Put(&last[i]);
  }
  for (workload::Thread& thread : threads) thread.join();
  return program.Finish();
}
