// Whose system call it is: the command's own, that of its child before it becomes the program, the
// runtime's in the program, one that the command has the program make when it attaches, or the
// program's.
//
// Shape    of a call that waits for an answer (intercept.h). The runtime's are those that libcoz.so
//          makes itself, and those of a libc function that it calls directly: the first return
//          address on the stack lies in libcoz.so. Calls deeper in libc (malloc, stdio) count as
//          the program's, and so do those that libcoz.so passes on for the program (IsPassedOn).
//          Those of the dynamic linker are the program's in either process, unless the command
//          has it load the library: that is done with all signals blocked but SIGSYS.
// Units    runtime addresses
// Errors   a process that has ended meanwhile: kProgram
// Threads  compatible
// Signals  none
// Source   proc(5)
#ifndef COZ_TESTING_FAULTS_CALLER_H_
#define COZ_TESTING_FAULTS_CALLER_H_

#include <map>
#include <string>
#include <vector>

#include "coz/testing/faults/intercept.h"

namespace coz::testing {

enum class Caller { kSupervisor, kStarter, kRuntime, kInjected, kProgram };

const char* Name(Caller caller);
bool CallerNamed(const std::string& name, Caller* caller);

class Callers {
 public:
  // By the path of the command's file.
  explicit Callers(const std::string& command_file);

  Caller Of(const InterceptedCall& call);
  // Of a call of the process that the command attaches to: none is the command's own.
  Caller OfAttached(const InterceptedCall& call);
  // The return addresses on its stack as FILE+OFFSET, innermost first, stale ones among them.
  std::string Stack(const InterceptedCall& call) const;

 private:
  pid_t ProcessOf(pid_t tid);

  std::string command_file_;
  pid_t first_process_ = 0;            // which becomes the command
  std::map<pid_t, pid_t> process_of_;  // by thread
};

}  // namespace coz::testing

#endif  // COZ_TESTING_FAULTS_CALLER_H_
