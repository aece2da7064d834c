// What /proc tells of another process: its state, its mappings, and where functions of its
// libraries lie.
//
// Shape    copies, as of one moment
// Units    addresses of the process; numbers as the kernel gives them
// Errors   a process that is gone, or may not be looked at, has no status or no mappings
// Threads  safe
// Signals  not safe
// Source   proc(5); System V ABI for ELF
#ifndef COZ_ATTACH_PROCESS_VIEW_H_
#define COZ_ATTACH_PROCESS_VIEW_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coz/base/unique_fd.h"

namespace coz::attach {

// The fields of a status file, by name: "State" → "S (sleeping)".
using StatusFields = std::map<std::string, std::string>;
StatusFields ParseStatus(std::string_view text);
// Of a process, or of one of its threads.
StatusFields ReadStatus(pid_t pid);
StatusFields ReadThreadStatus(pid_t pid, pid_t tid);

// By a signal such as SIGSTOP or Ctrl-Z, all threads of it. Not where a tracer has stopped it.
bool IsStopped(const StatusFields& status);

// The first number of a field; `otherwise` where it is missing.
int64_t NumberIn(const StatusFields& fields, const std::string& name, int64_t otherwise);
// A signal set such as SigBlk, bit 0 for signal 1.
uint64_t SignalsIn(const StatusFields& fields, const std::string& name);

// The program that a process runs at this moment. An exec gives it another one, at other addresses.
class ProgramImage {
 public:
  explicit ProgramImage(pid_t pid);
  // True where nothing may be known of the process.
  bool IsStillThere() const;
  // True where the process runs another program by now. Not where it has ended, or is about to.
  bool HasBecomeAnother() const;
  // Of this program only, whatever the process runs by now. False: errno, or 0 where it is gone.
  bool Write(uint64_t address, const void* bytes, size_t count) const;

 private:
  pid_t pid_;
  UniqueFd memory_;
  std::string auxiliary_vector_;
};

// Threads at this moment.
std::vector<pid_t> ReadThreads(pid_t pid);

// The system call in which a thread sleeps, as /proc has it. -1: it runs, or sleeps in none.
struct SleepingCall {
  int64_t number = -1;
  uint64_t arguments[6] = {};
};
SleepingCall ReadSleepingCall(pid_t pid, pid_t tid);

// Whether such a call returns a part where it is ended midway, as a write to a full pipe does. The
// program would see that its thread was stopped.
bool MayReturnAPart(const SleepingCall& call);

struct Mapping {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool is_executable = false;
  bool is_writable = false;
  uint64_t file_offset = 0;
  uint64_t inode = 0;
  std::string path;  // or a name in brackets; empty: anonymous memory
};
std::vector<Mapping> ParseMappings(std::string_view text);
std::vector<Mapping> ReadMappings(pid_t pid);

const Mapping* MappingAt(const std::vector<Mapping>& mappings, uint64_t address);

// The mapping of the first byte of the first file with this base name, "libc.so.6" say; null where
// there is none.
const Mapping* FileNamed(const std::vector<Mapping>& mappings, std::string_view base_name);

// Offsets of functions in a shared object, for those that it exports in their default version.
// Empty where the file cannot be read.
std::map<std::string, uint64_t> ExportedFunctions(const std::string& file,
                                                  const std::vector<std::string>& names);

}  // namespace coz::attach

#endif  // COZ_ATTACH_PROCESS_VIEW_H_
