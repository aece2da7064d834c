// Reads words of memory that may not be there, a stack above all, without ever faulting.
//
// Shape    one per walk; remembers one range that is known to be readable
// Units    runtime addresses, bytes
// Errors   false
// Threads  owner; RememberStackOf… are for the calling thread
// Signals  async-signal-safe but for RememberStackOfThisThread
// Source   coz/base/readable.h
#ifndef COZ_SAMPLER_UNWIND_STACK_READER_H_
#define COZ_SAMPLER_UNWIND_STACK_READER_H_

#include <cstdint>

namespace coz::sampler {

// From then on a StackReader that starts within this thread's stack does not ask the kernel about
// it.
void RememberStackOfThisThread();

// The same at the start of a thread that libc has made, without system call or heap. At least
// `bytes` of stack lie below the thread's descriptor, where libc puts it; 0: unknown.
void RememberStackOfNewThread(uint64_t bytes);

class StackReader {
 public:
  // All between `stack_pointer` and the outer end of the thread's stack, where known, is readable:
  // the interrupted code uses it.
  explicit StackReader(uint64_t stack_pointer);

  bool Read(uint64_t address, uint64_t* word) {
    const bool known = address >= begin_ && address < end_ && end_ - address >= sizeof(*word);
    if (!known && !Verify(address, sizeof(*word))) return false;
    *word = *reinterpret_cast<const UnalignedWord*>(address);
    return true;
  }

 private:
  using UnalignedWord = uint64_t __attribute__((aligned(1), may_alias));

  bool Verify(uint64_t address, uint64_t size);

  uint64_t begin_ = 0;
  uint64_t end_ = 0;
};

}  // namespace coz::sampler

#endif  // COZ_SAMPLER_UNWIND_STACK_READER_H_
