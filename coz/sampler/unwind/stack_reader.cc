#include "coz/sampler/unwind/stack_reader.h"

#include <pthread.h>
#include <unistd.h>

#include "coz/base/readable.h"

namespace coz::sampler {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kUserEnd = uint64_t{1} << 47;
// Below the stack pointer lie the red zone, and registers that an epilogue has just restored but
// the rules still place there.
constexpr uint64_t kBelowStackPointerBytes = 128;

struct Range {
  uint64_t begin = 0;
  uint64_t end = 0;
};

__attribute__((tls_model("initial-exec"))) thread_local Range stack_of_thread;

uint64_t PageOf(uint64_t address) { return address & ~(kPageBytes - 1); }

void SetStackOfThread(uint64_t begin, uint64_t end) {
  // A signal in between sees an empty range.
  stack_of_thread.end = 0;
  stack_of_thread.begin = begin;
  stack_of_thread.end = end;
}

}  // namespace

void RememberStackOfThisThread() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* begin = nullptr;
  size_t size = 0;
  if (pthread_attr_getstack(&attributes, &begin, &size) == 0) {
    const auto address = reinterpret_cast<uintptr_t>(begin);
    SetStackOfThread(address, address + size);
  }
  pthread_attr_destroy(&attributes);
}

void RememberStackOfNewThread(uint64_t bytes) {
  const auto end = static_cast<uint64_t>(pthread_self());
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  if (here < end && end - here <= bytes && bytes <= end) SetStackOfThread(end - bytes, end);
}

StackReader::StackReader(uint64_t stack_pointer) {
  const Range& stack = stack_of_thread;
  if (stack_pointer < stack.begin + kBelowStackPointerBytes || stack_pointer >= stack.end) return;
  begin_ = stack_pointer - kBelowStackPointerBytes;
  end_ = stack.end;
}

bool StackReader::Verify(uint64_t address, uint64_t size) {
  if (address >= kUserEnd - kPageBytes) return false;
  const uint64_t first = PageOf(address);
  const uint64_t last = PageOf(address + size - 1);
  for (uint64_t page = first; page <= last; page += kPageBytes) {
    if (page >= begin_ && page + kPageBytes <= end_) continue;
    if (!IsReadable(page)) return false;
    // A walk goes outwards: mostly the range grows by the next page. It may begin amid a page.
    if (page == end_) {
      end_ += kPageBytes;
    } else if (page < begin_ && begin_ - page <= kPageBytes) {
      begin_ = page;
    } else {
      begin_ = page;
      end_ = page + kPageBytes;
    }
  }
  return true;
}

}  // namespace coz::sampler
