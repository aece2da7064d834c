#include "coz/attach/safe_point.h"

#include <elfutils/libdwfl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "coz/attach/process_view.h"

namespace coz::attach {
namespace {

constexpr int64_t kWaits[] = {
    SYS_epoll_wait,      SYS_epoll_pwait, SYS_epoll_pwait2, SYS_poll,
    SYS_ppoll,           SYS_select,      SYS_pselect6,     SYS_nanosleep,
    SYS_clock_nanosleep, SYS_accept,      SYS_accept4,      SYS_recvfrom,
    SYS_recvmsg,         SYS_read,        SYS_pause,        SYS_rt_sigtimedwait,
    SYS_rt_sigsuspend,   SYS_wait4,       SYS_waitid,       SYS_futex};

// Of libc, in which a thread may wait on a futex. A lock is none of them: it may be an allocator's.
constexpr const char* kFutexWaits[] = {"pthread_cond_wait",
                                       "pthread_cond_timedwait",
                                       "pthread_cond_clockwait",
                                       "__pthread_clockjoin_ex",
                                       "pthread_join",
                                       "pthread_timedjoin_np",
                                       "pthread_clockjoin_np",
                                       "pthread_barrier_wait",
                                       "sem_wait",
                                       "sem_timedwait",
                                       "sem_clockwait",
                                       "cnd_wait",
                                       "cnd_timedwait",
                                       "thrd_join",
                                       "syscall"};

// The beginning of threads and programs in libc.
constexpr const char* kBeginnings[] = {
    "start_thread",          "clone", "clone3", "__clone", "__clone3", "__libc_start_main",
    "__libc_start_call_main"};

constexpr const char* kBeginningsOfGo[] = {"runtime.mstart", "runtime.mstart.abi0"};

// In whatever library: they hold locks that dlopen takes, or are about to end or copy the process.
constexpr const char* kHoldsLocks[] = {"malloc",
                                       "calloc",
                                       "realloc",
                                       "free",
                                       "cfree",
                                       "memalign",
                                       "aligned_alloc",
                                       "posix_memalign",
                                       "valloc",
                                       "pvalloc",
                                       "reallocarray",
                                       "malloc_trim",
                                       "malloc_usable_size",
                                       "mallopt",
                                       "mallinfo",
                                       "mallinfo2",
                                       "malloc_info",
                                       "malloc_stats",
                                       "dlopen",
                                       "dlmopen",
                                       "dlclose",
                                       "dlsym",
                                       "dlvsym",
                                       "dladdr",
                                       "dladdr1",
                                       "dlinfo",
                                       "dl_iterate_phdr",
                                       "fork",
                                       "vfork",
                                       "_Fork",
                                       "__libc_fork",
                                       "posix_spawn",
                                       "posix_spawnp",
                                       "pthread_create",
                                       "pthread_exit",
                                       "thrd_create",
                                       "exit",
                                       "_exit",
                                       "quick_exit",
                                       "__run_exit_handlers",
                                       "__cxa_finalize",
                                       "__cxa_atexit",
                                       "atexit",
                                       "abort",
                                       "__nptl_deallocate_tsd",
                                       "pthread_atfork"};

template <size_t kCount>
bool IsOneOf(const std::string& name, const char* const (&names)[kCount]) {
  return std::any_of(std::begin(names), std::end(names),
                     [&name](const char* one) { return name == one; });
}

bool IsLoader(const std::string& file) { return absl::StartsWith(file, "ld-linux"); }
bool IsLibc(const std::string& file) { return file == "libc.so.6"; }
bool IsOurs(const std::string& file) { return file == "libcoz.so"; }

std::string Describe(const StackFrame& frame) {
  const std::string where = frame.file.empty() ? "code of no file" : frame.file;
  return frame.function.empty() ? absl::StrFormat("at %#x in %s", frame.address, where)
                                : absl::StrFormat("in %s of %s", frame.function, where);
}

absl::Status Unsafe(const std::string& what) { return absl::FailedPreconditionError(what); }

// Whether the thread is in Go's runtime, from its beginning on: code of Go holds no lock of libc's.
// Behind that is a function of cgo's that cannot be unwound, which libc has begun the thread with.
bool IsWhollyInGo(const std::vector<StackFrame>& frames) {
  for (const StackFrame& frame : frames) {
    if (frame.file != frames.front().file) return false;
    if (IsOneOf(frame.function, kBeginningsOfGo)) return true;
  }
  return false;
}

// Of libc's functions, which one does the thread wait on a futex in?
absl::Status CheckFutex(const ThreadState& state) {
  if (state.waits_for_thread || IsWhollyInGo(state.frames)) return absl::OkStatus();
  for (const StackFrame& frame : state.frames) {
    if (!IsLibc(frame.file)) break;
    if (IsOneOf(frame.function, kFutexWaits)) return absl::OkStatus();
  }
  return Unsafe("it waits for a lock");
}

// The number of frames inside those in which libc begins a thread or the program. A stripped libc
// has no names for some of them, but they are two, and outermost: start_thread and clone3, or
// __libc_start_call_main and __libc_start_main, the latter with a name and the program's _start
// outside. What libc calls at a thread's end makes them three.
size_t FramesInsideBeginning(const std::vector<StackFrame>& frames) {
  constexpr size_t kOfLibc = 2;
  size_t end = frames.size();
  if (end > kOfLibc && frames[end - kOfLibc].function == "__libc_start_main") --end;
  const auto may_begin = [](const StackFrame& frame) {
    return IsLibc(frame.file) && (frame.function.empty() || IsOneOf(frame.function, kBeginnings));
  };
  const bool are_there = end > kOfLibc && may_begin(frames[end - 1]) &&
                         may_begin(frames[end - 2]) && !IsLibc(frames[end - 3].file);
  return are_there ? end - kOfLibc : frames.size();
}

// A thread that waits for nothing has to be in the program's own code. In libcoz.so, for a call of
// the program or a sample, it may hold a lock that our call takes.
absl::Status CheckRunning(const ThreadState& state) {
  if (state.has_other_malloc) return Unsafe("it runs, perhaps in an allocator");
  const size_t inside = FramesInsideBeginning(state.frames);
  for (size_t i = 0; i < inside; ++i) {
    const StackFrame& frame = state.frames[i];
    if (frame.file.empty()) return Unsafe("it runs in " + Describe(frame));
    const bool is_libcs = IsLibc(frame.file) && !IsOneOf(frame.function, kBeginnings);
    if (is_libcs || IsOurs(frame.file)) return Unsafe("it runs " + Describe(frame));
  }
  return absl::OkStatus();
}

}  // namespace

bool IsWaitForOutside(int64_t system_call) {
  return std::count(std::begin(kWaits), std::end(kWaits), system_call) != 0;
}

absl::Status IsSafe(const ThreadState& state) {
  if (state.frames.empty() || !(state.is_whole || IsWhollyInGo(state.frames))) {
    return Unsafe("its stack cannot be unwound");
  }
  for (const StackFrame& frame : state.frames) {
    if (IsLoader(frame.file) || IsOneOf(frame.function, kHoldsLocks)) {
      return Unsafe("it is " + Describe(frame));
    }
  }
  if (state.waiting_call < 0) return CheckRunning(state);
  if (!IsWaitForOutside(state.waiting_call)) {
    return Unsafe(absl::StrFormat("it is in system call %d", state.waiting_call));
  }
  if (state.waiting_call == SYS_futex) return CheckFutex(state);
  return absl::OkStatus();
}

bool IsOnOwnStack(const std::vector<Mapping>& mappings, uint64_t stack_pointer,
                  uint64_t thread_pointer, bool is_first) {
  const Mapping* const mapping = MappingAt(mappings, stack_pointer);
  if (mapping == nullptr) return false;
  if (mapping->path == "[stack]") return is_first;
  if (stack_pointer >= thread_pointer || thread_pointer >= mapping->end) return false;
  const Mapping* const below = MappingAt(mappings, mapping->begin - 1);
  const bool has_guard =
      below != nullptr && below->path.empty() && !below->is_writable && !below->is_executable;
  return has_guard || !is_first;
}

struct SafePoints::Unwinder {
  explicit Unwinder(pid_t pid) {
    static char no_path[] = "";
    static char* debug_path = no_path;  // tables for unwinding are in the files themselves
    callbacks.find_elf = dwfl_linux_proc_find_elf;
    callbacks.find_debuginfo = dwfl_standard_find_debuginfo;
    callbacks.debuginfo_path = &debug_path;
    dwfl = dwfl_begin(&callbacks);
    if (dwfl == nullptr) return;
    is_attached = dwfl_linux_proc_report(dwfl, pid) == 0 &&
                  dwfl_report_end(dwfl, nullptr, nullptr) == 0 &&
                  dwfl_linux_proc_attach(dwfl, pid, true) == 0;
  }
  ~Unwinder() {
    if (dwfl != nullptr) dwfl_end(dwfl);
  }
  Unwinder(const Unwinder&) = delete;
  Unwinder& operator=(const Unwinder&) = delete;

  Dwfl_Callbacks callbacks = {};
  Dwfl* dwfl = nullptr;
  bool is_attached = false;
};

SafePoints::SafePoints(pid_t pid) : pid_(pid), unwinder_(std::make_unique<Unwinder>(pid)) {
  std::vector<std::string> looked_at;
  for (const Mapping& mapping : ReadMappings(pid)) {
    if (mapping.path.empty() || mapping.path[0] != '/' || mapping.file_offset != 0 ||
        absl::EndsWith(mapping.path, "/libc.so.6") ||
        absl::StrContains(mapping.path, "/ld-linux")) {
      continue;
    }
    if (std::count(looked_at.begin(), looked_at.end(), mapping.path) != 0) continue;
    looked_at.push_back(mapping.path);
    has_other_malloc_ |=
        !ExportedFunctions(absl::StrFormat("/proc/%d/root%s", pid, mapping.path), {"malloc"})
             .empty();
  }
}

SafePoints::~SafePoints() = default;

absl::Status SafePoints::Check(const Stopped& thread) {
  if (!IsOnOwnStack(ReadMappings(pid_), thread.stack_pointer, thread.thread_pointer,
                    thread.tid == pid_)) {
    return Unsafe("it is on a small stack, as goroutines and fibers have");
  }
  if (!unwinder_->is_attached) return Unsafe("its stack cannot be unwound");
  struct Walk {
    Dwfl* dwfl;
    ThreadState state;
  } walk = {unwinder_->dwfl, {}};
  walk.state.waiting_call = thread.waiting_call;
  walk.state.waits_for_thread = thread.waits_for_thread;
  walk.state.has_other_malloc = has_other_malloc_;
  const auto visit = +[](Dwfl_Frame* frame, void* opaque) -> int {
    constexpr size_t kMostFrames = 512;
    Walk& w = *static_cast<Walk*>(opaque);
    Dwarf_Addr pc = 0;
    bool is_activation = false;
    if (!dwfl_frame_pc(frame, &pc, &is_activation)) return DWARF_CB_ABORT;
    const Dwarf_Addr lookup = is_activation ? pc : pc - 1;
    StackFrame seen;
    seen.address = pc;
    if (Dwfl_Module* const module = dwfl_addrmodule(w.dwfl, lookup)) {
      const char* const path =
          dwfl_module_info(module, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
      const std::string_view whole = path != nullptr ? path : "";
      seen.file = std::string(whole.substr(whole.rfind('/') + 1));
      const char* const name = dwfl_module_addrname(module, lookup);
      if (name != nullptr) seen.function = name;
    }
    w.state.frames.push_back(seen);
    return w.state.frames.size() < kMostFrames ? DWARF_CB_OK : DWARF_CB_ABORT;
  };
  walk.state.is_whole = dwfl_getthread_frames(unwinder_->dwfl, thread.tid, visit, &walk) == 0;
  // libdw takes a thread whose registers it could not read, as it was just killed, for one that it
  // still holds, and asserts in the next walk that there is none.
  if (walk.state.frames.empty()) unwinder_ = std::make_unique<Unwinder>(pid_);
  return IsSafe(walk.state);
}

}  // namespace coz::attach
