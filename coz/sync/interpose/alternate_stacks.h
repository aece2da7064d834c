// Which alternate signal stack each thread has set. Samples stay off these where threads share one,
// and where one is gone.
//
// Shape    what sigaltstack and munmap do around libc's calls. One entry a thread: where its stack
//          begins
// Units    none
// Errors   none. Past 4096 threads with stacks, further ones are not noted
// Threads  safe
// Signals  async-signal-safe
// Source   sigaltstack(2), munmap(2)
//
// A program may give one stack to all of its threads where it is for a handler that ends the
// process: Varnish does. Samples interrupt several threads at a time, and their handlers would
// write over one another there. So from the second thread with the same stack on, samples are
// handled on the stacks of the interrupted code. So they are from then on, too, when the program
// unmaps the stack of a thread that goes on: its own signals are over by then, samples are not.
// Where that is another thread, the memory stays, since the handler of a sample may be on it: a
// Rust program that ends in std::process::exit unmaps the stack of its main thread.
#ifndef COZ_SYNC_INTERPOSE_ALTERNATE_STACKS_H_
#define COZ_SYNC_INTERPOSE_ALTERNATE_STACKS_H_

#include <signal.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace coz::interpose {

// Begins before a call that sets `stack`, sigaltstack's argument, for the calling thread.
class AlternateStackChange {
 public:
  explicit AlternateStackChange(const stack_t* stack);
  // The call has returned. `is_set`: it has succeeded.
  void End(bool is_set);

 private:
  bool is_change_ = false;
  std::atomic<uintptr_t>* added_ = nullptr;
};

// Notes what the calling thread set before the library came.
void NoteAlternateStackHere();

// Before the program unmaps that memory. Returns whether it is to stay, for the stack of another
// thread is in it.
bool NoteUnmapped(const void* begin, size_t bytes);

// The calling thread ends and is not sampled any more: the next may get its stack.
void ForgetAlternateStackHere();

// For the child of fork: it has the calling thread only.
void OnForkInAlternateStacks();

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_ALTERNATE_STACKS_H_
