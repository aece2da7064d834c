// What the supervisor calls in a process that runs already: _coz_attach, _coz_sample_by_timers,
// _coz_change_code, _coz_end_signals and _coz_detach. Process: target. Context: a thread that the
// supervisor has stopped and lets make this call, with all signals but SIGSYS blocked, on a stack
// that is not the thread's own.
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "coz/base/clock.h"
#include "coz/base/errno_saver.h"
#include "coz/base/kernel_sigaction.h"
#include "coz/base/raw_syscall.h"
#include "coz/patch/code_patcher.h"
#include "coz/runtime/api_calls.h"
#include "coz/runtime/call_routines.h"
#include "coz/runtime/fork.h"
#include "coz/runtime/kept_block.h"
#include "coz/runtime/patched_code.h"
#include "coz/runtime/process_entry.h"
#include "coz/runtime/process_hooks.h"
#include "coz/runtime/progress_points.h"
#include "coz/runtime/published_counters.h"
#include "coz/runtime/runtime_state.h"
#include "coz/runtime/thread_hooks.h"
#include "coz/sampler/sampler.h"
#include "coz/sampler/unwind/unwinder.h"
#include "coz/shared/attach_interface.h"
#include "coz/shared/carry_over.h"
#include "coz/shared/control_mapping.h"
#include "coz/shared/process_slots.h"
#include "coz/sync/interpose/call_slots.h"
#include "coz/sync/interpose/io_object.h"
#include "coz/sync/interpose/memory_limit.h"
#include "coz/sync/interpose/preload_environment.h"
#include "coz/sync/interpose/signal_shield.h"
#include "coz/sync/interpose/stdio_tables.h"
#include "coz/sync/interpose/thread_exit.h"
#include "coz/sync/interpose/thread_sync.h"

namespace coz::runtime {
namespace {

using runtime_internal::g_control;
using runtime_internal::g_is_late;
using runtime_internal::g_modules;
using runtime_internal::g_pid;
using runtime_internal::g_process;
using shared::AttachAnswer;

// With what libc changes in it.
KernelSigaction g_disposition_before = {};

KernelSigaction ReadDisposition() {
  KernelSigaction action = {};
  GetKernelSigaction(sampler::kSamplingSignal, &action);
  return action;
}

// The program may have set another one meanwhile.
void RestoreDisposition() {
  interpose::LiftSignalShield();
  const KernelSigaction now = ReadDisposition();
  if (now.handler != g_disposition_before.handler || now.mask != g_disposition_before.mask) return;
  SetKernelSigaction(sampler::kSamplingSignal, g_disposition_before);
}

int LetMarksOfObjectAsk(dl_phdr_info* info, size_t, void* opaque) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_W) == 0) continue;
    char* const begin = reinterpret_cast<char*>(info->dlpi_addr + header.p_vaddr);
    LetMarksAsk(*static_cast<MarksAsk*>(opaque), begin, begin + header.p_filesz);
  }
  return 0;
}

void LetAllMarksAsk(MarksAsk ask) { dl_iterate_phdr(LetMarksOfObjectAsk, &ask); }

AttachAnswer AnswerOf(shared::CarryFault fault) {
  switch (fault) {
    case shared::CarryFault::kNone:
      return AttachAnswer::kDone;
    case shared::CarryFault::kOtherPoints:
      return AttachAnswer::kOtherPoints;
    case shared::CarryFault::kNoSlot:
      return AttachAnswer::kNoSlot;
  }
  return AttachAnswer::kNoMemory;
}

// Puts the block in `fd`, which is mapped at `block`, in the place of the one before, whose
// addresses threads have kept.
AttachAnswer PutInPlace(int fd, uint32_t process, shared::ControlBlock** block) {
  if (g_control == nullptr) return AttachAnswer::kDone;
  static shared::SlotPlaces places;
  places.used = 0;
  const shared::CarryFault fault =
      shared::CarryOver(*g_control, process, getpid(), **block, &places);
  if (fault != shared::CarryFault::kNone) return AnswerOf(fault);
  if (!runtime_internal::MakeRoomForBlock()) return AttachAnswer::kNoMemory;
  if (!shared::PlaceControl(fd, places, g_control)) return AttachAnswer::kNoMemory;
  munmap(*block, shared::kControlMappingBytes);
  *block = g_control;
  return AttachAnswer::kDone;
}

void FindProgramEnvironment() {
  void* const program = dlopen(nullptr, RTLD_LAZY | RTLD_NOLOAD);
  if (program == nullptr) return;
  auto* const variable = static_cast<char***>(dlsym(program, "environ"));
  if (variable != nullptr) interpose::UseEnvironment(variable);
  dlclose(program);
}

// Once for the process.
void PrepareProcess(const shared::ControlBlock& control) {
  if (g_is_late) return;
  g_is_late = true;
  interpose::InitThreadExit();
  FindProgramEnvironment();
  sampler::InitUnwinder(static_cast<sampler::UnwinderKind>(control.wanted_unwinder));
  pthread_atfork(OnFork, nullptr, OnForkInChildProcess);
}

// False where the signal has no handler.
bool TakeSignal(const shared::ControlBlock& control) {
  if (!interpose::HasSignalShield()) g_disposition_before = ReadDisposition();
  interpose::InitSignalShieldLate(sampler::kSamplingSignal);
  return StartSamplingFromOutside(control);
}

// False where the process cannot be sampled.
bool Enter(shared::ControlBlock* control, shared::ProcessSlot* process) {
  g_control = control;
  interpose::SetProfilersMemory(shared::kControlMappingBytes);
  g_pid = getpid();
  PrepareProcess(*control);
  const uint32_t image = control->images.fetch_add(1, std::memory_order_release);
  interpose::SetIoTables(&control->io);
  interpose::InitThreadSync(&control->ledger, RuntimeThreadHooks());
  interpose::g_process_hooks = RuntimeProcessHooks();
  ForgetPublishedCounters();
  g_modules.Restart();
  g_modules.AddProgram(control, AddPointsOfMarks);
  g_process = process;
  runtime_internal::ShareVisitsOfNobodyAgain(*control, shared::IndexOf(*control, *process), g_pid);
  process->counters_fs_offset = runtime_internal::CountersFsOffset();
  runtime_internal::PublishCallRoutines(process);
  runtime_internal::PublishApiRoutines(control, process);
  PublishOwnCalls(*process);
  process->left_for_good = interpose::AddressOfHasLeft();
  PublishProcess(*process, image);
  if (!TakeSignal(*control)) return false;
  interpose::AdmitLateThreads(true);
  LetAllMarksAsk(MarksAsk::kAgain);
  interpose::WrapLoadedObjects();
  interpose::WrapStdio();
  return true;
}

// A callback may pause for some milliseconds. What one still does afterwards it does in the block
// that is kept.
void AwaitCallbacks() {
  constexpr timespec kLook = {0, kNsPerMs};
  constexpr int kMostLooks = 200;
  for (int i = 0; i < kMostLooks && sampler::ActiveSampleCallbacks() != 0; ++i) {
    RawSyscall(SYS_nanosleep, &kLook, nullptr);
  }
}

// Of events, those that threads have opened for themselves included, timers and int3s. False where
// an int3 stays.
bool EndSignals() {
  sampler::StopSampler();
  sampler::DeleteTimersOfThreads();
  AwaitCallbacks();
  sampler::CloseEventsOfThreads();
  return patch::RestoreCode();
}

void Leave(bool restores_disposition) {
  g_control->ledger.selection.store(0, std::memory_order_release);
  interpose::AdmitLateThreads(false);
  const bool is_restored = EndSignals();
  runtime_internal::ShareNoVisits();
  interpose::UnwrapObjects();
  interpose::UnwrapStdio();
  LetAllMarksAsk(MarksAsk::kNoMore);
  // An int3 that stays needs its handler.
  if (is_restored) interpose::GiveMasksBack();
  if (restores_disposition && is_restored) RestoreDisposition();
  g_process = nullptr;
  runtime_internal::KeepBlock(g_pid);
}

AttachAnswer WhyNot(shared::MapFault fault) {
  switch (fault) {
    case shared::MapFault::kOtherVersion:
      return AttachAnswer::kOtherVersion;
    case shared::MapFault::kNoFile:
      return AttachAnswer::kNoFile;
    default:
      return AttachAnswer::kNoMemory;
  }
}

bool HasErrno(AttachAnswer answer) {
  return answer == AttachAnswer::kNoFile || answer == AttachAnswer::kNoMemory;
}

AttachAnswer AttachLate(int fd) {
  if (g_control != nullptr && !g_is_late) return AttachAnswer::kPreloaded;
  if (g_control != nullptr && g_process != nullptr) {
    if (!runtime_internal::SupervisorHasEnded()) return AttachAnswer::kInProfile;
    Leave(/*restores_disposition=*/false);  // its supervisor has ended without
  }
  const shared::MappedControl mapped = shared::MapControl(fd);
  if (mapped.control == nullptr) return WhyNot(mapped.fault);
  shared::ControlBlock* control = mapped.control;
  shared::ProcessSlot* process = shared::TakeProcessSlot(*control, getpid(), getppid());
  const uint32_t index = process == nullptr ? 0 : shared::IndexOf(*control, *process);
  const AttachAnswer answer =
      process == nullptr ? AttachAnswer::kNoSlot : PutInPlace(fd, index, &control);
  if (answer != AttachAnswer::kDone) {
    if (process != nullptr) process->state.store(shared::ProcessState::kFree);
    const ErrnoSaver errno_saver;
    munmap(mapped.control, shared::kControlMappingBytes);
    return answer;
  }
  madvise(control, shared::kControlMappingBytes, MADV_DONTDUMP);
  if (Enter(control, &control->processes[index])) return AttachAnswer::kDone;
  Leave(/*restores_disposition=*/true);
  return AttachAnswer::kNoHandler;
}

AttachAnswer DetachLate(bool restores_disposition) {
  if (!g_is_late || g_control == nullptr) return AttachAnswer::kNotAttached;
  // Of a session whose disposition could not be restored, that is left to do.
  if (g_process == nullptr) {
    if (restores_disposition && interpose::HasSignalShield()) RestoreDisposition();
    return AttachAnswer::kNotAttached;
  }
  Leave(restores_disposition);
  return AttachAnswer::kDone;
}

AttachAnswer ChangeCodeLate(bool is_first) {
  if (!g_is_late || g_process == nullptr) return AttachAnswer::kNotAttached;
  if (is_first) {
    interpose::LetReservedSignalIn();
  } else {
    runtime_internal::ChangeCodeIfAsked(*g_control, g_pid);
  }
  return AttachAnswer::kDone;
}

AttachAnswer SampleByTimers() {
  if (!g_is_late || g_process == nullptr) return AttachAnswer::kNotAttached;
  shared::TimerRequest& request = g_control->timer_request;
  const uint32_t count = std::min(request.count, shared::kMostTimersAsked);
  sampler::ChangeToCpuTimersFromOutside();
  g_process->uses_timers.store(1);
  for (uint32_t i = 0; i < count; ++i) {
    request.threads[i] = sampler::SampleThreadByTimer(request.threads[i]);
  }
  return AttachAnswer::kDone;
}

}  // namespace

extern "C" {

#define COZ_EXPORT __attribute__((visibility("default")))

COZ_EXPORT int64_t _coz_attach(int64_t fd) {
  const ErrnoSaver errno_saver;
  const AttachAnswer answer = AttachLate(static_cast<int>(fd));
  const int64_t packed = shared::WithErrno(answer, HasErrno(answer) ? errno : 0);
  RawSyscall(SYS_close, fd);
  return packed;
}

COZ_EXPORT int64_t _coz_detach(int64_t restores_disposition) {
  const ErrnoSaver errno_saver;
  return static_cast<int64_t>(DetachLate(restores_disposition != 0));
}

COZ_EXPORT int64_t _coz_change_code(int64_t is_first) {
  const ErrnoSaver errno_saver;
  return static_cast<int64_t>(ChangeCodeLate(is_first != 0));
}

COZ_EXPORT int64_t _coz_sample_by_timers(int64_t) {
  const ErrnoSaver errno_saver;
  return static_cast<int64_t>(SampleByTimers());
}

COZ_EXPORT int64_t _coz_end_signals(int64_t) {
  const ErrnoSaver errno_saver;
  return static_cast<int64_t>(EndSignals() ? AttachAnswer::kDone : AttachAnswer::kCodeStays);
}

}  // extern "C"

}  // namespace coz::runtime
