// Runs a piece of a test in a forked child: for code of which a process has only one, or that may
// end the process.
//
// Shape    the wait status, as of waitpid(2); results pass through a SharedValue
// Units    none
// Errors   a failed fork or mmap ends the test process
// Threads  none
// Signals  none
// Source   fork(2)
#ifndef COZ_TESTING_IN_CHILD_H_
#define COZ_TESTING_IN_CHILD_H_

#include <sys/mman.h>

#include <cstdlib>
#include <functional>
#include <new>

namespace coz::testing {

// The wait status of a child that runs `body` and then leaves with _exit(0).
int RunInChild(const std::function<void()>& body);

// A zero-initialised T that parent and child share.
template <typename T>
class SharedValue {
 public:
  SharedValue() {
    void* memory =
        mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) abort();
    value_ = new (memory) T();
  }
  ~SharedValue() { munmap(value_, sizeof(T)); }
  SharedValue(const SharedValue&) = delete;
  SharedValue& operator=(const SharedValue&) = delete;

  T* operator->() const { return value_; }
  T& operator*() const { return *value_; }

 private:
  T* value_;
};

}  // namespace coz::testing

#endif  // COZ_TESTING_IN_CHILD_H_
