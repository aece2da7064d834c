#include "coz/supervisor/points/own_calls.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "coz/base/clock.h"
#include "coz/base/go_moment.h"
#include "coz/base/unique_fd.h"
#include "coz/patch/place_plan.h"
#include "coz/patch/relocation.h"
#include "coz/points/code_places.h"
#include "coz/shared/slot_loops.h"
#include "coz/supervisor/target/mapped_code.h"

namespace coz::supervisor {
namespace {

// In the runtime of Go 1.13 to 1.24. Left out are those that make threads and processes, whose
// child goes on behind the instruction, and those that neither wait nor wake.
constexpr const char* kFunctions[] = {
    "runtime.futex",
    "runtime.epollcreate1",
    "runtime.epollctl",
    "runtime.epollwait",
    "runtime.read",
    "runtime.write1",
    "runtime.closefd",
    "runtime/internal/syscall.Syscall6",
    "internal/runtime/syscall.Syscall6",
    "syscall.Syscall",
    "syscall.Syscall6",
    "syscall.RawSyscall",
    "syscall.RawSyscall6",
};

// Functions of Go's scheduler, whose first argument is a goroutine, or in runqput a processor.
struct MomentName {
  const char* function;
  GoMoment moment;
};
constexpr MomentName kMoments[] = {
    {"runtime.park_m", GoMoment::kParks},       {"runtime.exitsyscall0", GoMoment::kParks},
    {"runtime.preemptPark", GoMoment::kYields}, {"runtime.goyield_m", GoMoment::kYields},
    {"runtime.goschedImpl", GoMoment::kYields}, {"runtime.goexit0", GoMoment::kEnds},
    {"runtime.runqput", GoMoment::kReady},      {"runtime.execute", GoMoment::kExecute},
};

// The same, which a program may lack. The first argument is what the moment is of.
constexpr MomentName kFurtherMoments[] = {
    {"runtime.gcBgMarkWorker.func1", GoMoment::kServes},
    {"runtime.netpollblockcommit", GoMoment::kPolls},
    {"runtime.(*scavengerState).park", GoMoment::kScavenges},
    {"runtime.(*scavengerState).sleep", GoMoment::kScavenges},
    {"runtime.stopTheWorldWithSema", GoMoment::kHalts},
    {"runtime.forEachP", GoMoment::kHalts},
    {"runtime.forEachPInternal", GoMoment::kHalts},
    {"sync.(*Mutex).lockSlow", GoMoment::kLocks},
    {"internal/sync.(*Mutex).lockSlow", GoMoment::kLocks},
    {"sync.(*RWMutex).Lock", GoMoment::kLocks},
    {"sync.(*WaitGroup).Add", GoMoment::kArrives},
    {"sync.(*WaitGroup).Wait", GoMoment::kMeets},
};

// Functions that have their arguments on the stack end so in the symbols of Go from 1.17 on, where
// others have them in registers.
constexpr char kStackSuffix[] = ".abi0";

template <size_t kNames>
std::optional<uint32_t> Find(const MomentName (&names)[kNames], absl::string_view name) {
  for (const MomentName& known : names) {
    if (name == known.function) return static_cast<uint32_t>(known.moment);
  }
  return std::nullopt;
}

bool MakesWaits(const std::string& linkage_name) {
  const absl::string_view name = absl::StripSuffix(linkage_name, kStackSuffix);
  return std::any_of(std::begin(kFunctions), std::end(kFunctions),
                     [name](const char* function) { return name == function; });
}

std::vector<uint8_t> ReadCode(const std::string& path, const points::CodePlace& place) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::vector<uint8_t> code(place.function_room + place.function_behind);
  const ssize_t read =
      pread(fd.get(), code.data(), code.size(), static_cast<off_t>(place.function_offset));
  if (read != static_cast<ssize_t>(code.size())) code.clear();
  return code;
}

// The offsets of its system call instructions.
std::vector<size_t> CallsIn(const std::vector<uint8_t>& code, size_t function_bytes) {
  std::vector<size_t> offsets;
  size_t at = 0;
  while (at < std::min(code.size(), function_bytes)) {
    const std::optional<patch::Instruction> found =
        patch::Decode(code.data() + at, code.size() - at);
    if (!found.has_value()) break;
    const bool is_call = found->bytes == sizeof(patch::kSystemCall) &&
                         std::equal(std::begin(patch::kSystemCall), std::end(patch::kSystemCall),
                                    code.begin() + static_cast<std::ptrdiff_t>(at));
    if (is_call) offsets.push_back(at);
    at += found->bytes;
  }
  return offsets;
}

void AddCalls(const std::string& path, const points::CodePlace& entry,
              std::vector<OwnCall>* calls) {
  const std::vector<uint8_t> code = ReadCode(path, entry);
  for (const size_t offset : CallsIn(code, entry.function_bytes)) {
    OwnCall call = {{path, entry}, {}, {PlaceEdge::Kind::kOwnCall, 0, {0, 0}}};
    call.place.code.file_offset = entry.function_offset + offset;
    call.plans.best = patch::PlanSystemCall(
        {code.data(), entry.function_bytes, entry.function_room, offset, entry.function_behind});
    if (call.plans.best.way == patch::Way::kJump) calls->push_back(call);
  }
}

// Most functions of Go begin by comparing the stack pointer with the stack's limit. A jump there
// would have its stub where a program without PIE has no memory. One at the next instruction, a
// branch, may have it anywhere.
constexpr uint8_t kComparesStack[] = {0x49, 0x3b, 0x66};  // cmp rsp, [r14 + a byte]
constexpr size_t kComparingBytes = sizeof(kComparesStack) + 1;

// An int3's handler does not have the registers of the place.
void AddMoment(const std::string& path, const points::CodePlace& entry, uint32_t moment,
               bool is_needed, std::vector<OwnCall>* moments) {
  OwnCall at = {{path, entry}, {}, {PlaceEdge::Kind::kGoroutine, moment, {0, 0}}, is_needed};
  const std::vector<uint8_t> code = ReadCode(path, entry);
  if (code.size() >= sizeof(kComparesStack) &&
      std::equal(std::begin(kComparesStack), std::end(kComparesStack), code.begin())) {
    at.place.code.file_offset += kComparingBytes;
  }
  at.plans = PlanInFile(path, at.place.code, /*has_restartable_code=*/false);
  at.plans.by_trap.reset();
  if (at.plans.best.way == patch::Way::kJump) moments->push_back(at);
}

}  // namespace

std::vector<OwnCall> FindOwnCalls(const std::string& path, std::string* why) {
  const absl::StatusOr<std::unique_ptr<points::CodePlaces>> binary = points::CodePlaces::Open(path);
  if (!binary.ok()) {
    *why = std::string(binary.status().message());
    return {};
  }
  std::vector<OwnCall> calls;
  std::vector<OwnCall> moments;
  std::vector<OwnCall> further_moments;
  bool passes_in_registers = false;
  for (const points::CodePlaces::Function& function : (*binary)->functions()) {
    const absl::string_view name = function.linkage_name;
    passes_in_registers |= absl::EndsWith(name, kStackSuffix);
    points::CodePlace entry;
    const bool makes_waits = MakesWaits(function.linkage_name);
    const std::optional<uint32_t> moment = Find(kMoments, name);
    const std::optional<uint32_t> further = Find(kFurtherMoments, name);
    if (!makes_waits && !moment.has_value() && !further.has_value()) continue;
    if (!(*binary)->PlaceOf(function, &entry)) continue;
    if (makes_waits) {
      AddCalls(path, entry, &calls);
    } else if (moment.has_value()) {
      AddMoment(path, entry, *moment, /*is_needed=*/true, &moments);
    } else {
      AddMoment(path, entry, *further, /*is_needed=*/false, &further_moments);
    }
  }
  if (calls.empty()) {
    *why = "it has no symbols; build it without -ldflags=-s";
  } else if (!passes_in_registers) {
    *why = "it is built by a Go before 1.17";
  } else if (moments.size() < std::size(kMoments)) {
    *why = "its scheduler is of an unknown version of Go";
  } else {
    calls.insert(calls.end(), moments.begin(), moments.end());
    calls.insert(calls.end(), further_moments.begin(), further_moments.end());
  }
  return calls;
}

std::string OwnCalls::LookInProgram(const ImageProcess& process) {
  const std::string link = absl::StrFormat("/proc/%d/exe", process.pid);
  std::string path = RealPath(link);
  if (path == link) return "";  // the process has ended
  const auto [moments, is_new] = moments_.emplace(path, std::vector<size_t>());
  if (!is_new) return path;
  std::string why;
  for (const OwnCall& call : FindOwnCalls(path, &why)) {
    const size_t number = patched_.Add({0}, call.place, call.plans, call.edge);
    if (call.is_needed) moments->second.push_back(number);
  }
  if (!why.empty()) {
    warnings_.push_back(
        absl::StrFormat("waits of goroutines are not seen in %s, for %s", path, why));
  }
  return path;
}

void OwnCalls::WarnOf(const std::vector<PatchedPlaces::Refused>& refused) {
  for (const PatchedPlaces::Refused& told : refused) {
    const PlaceInFile& place = patched_.place(told.place);
    if (!warned_of_.insert(place.file).second) continue;
    warnings_.push_back(absl::StrFormat(
        "not all waits of goroutines are seen, for %s is not to be changed in %s: %s",
        place.code.name, place.file, told.why));
  }
}

void OwnCalls::Poll(shared::ControlBlock& control, uint64_t now_ns, bool releases) {
  const bool look = look_pace_.IsDue(now_ns);
  uint64_t cost_ns = 0;
  std::vector<std::pair<pid_t, uint64_t>> live;
  shared::ForEachProcess(control, [&](shared::ProcessSlot& slot, uint32_t index) {
    if (slot.state.load(std::memory_order_acquire) != shared::ProcessState::kRunning) return;
    if (slot.own_call == 0) return;
    ImageProcess process = {slot.pid, slot.start_ns, {}};
    const uint32_t image = slot.image.load(std::memory_order_relaxed);
    const auto release = [&slot, image, releases] {
      if (releases) slot.armed.store(image + 1, std::memory_order_release);
    };
    if (!members_.Has(control, index, process.pid, now_ns)) return release();
    live.emplace_back(process.pid, process.start_ns);
    const bool is_new = seen_images_.Insert(image);
    if (!is_new && !look) return;
    const uint64_t start_ns = MonotonicNowNs();
    process.mapped = ReadMappedCode(process.pid);
    const std::vector<size_t>& moments = moments_[LookInProgram(process)];
    WarnOf(is_new ? patched_.AskAtStart(control, slot, process)
                  : patched_.Ask(control, slot, process));
    if (!moments.empty() && patched_.AreThere(moments, process)) {
      slot.notes_goroutines.store(1, std::memory_order_release);
    }
    if (!is_new) cost_ns += MonotonicNowNs() - start_ns;
    if (is_new || seen_images_.is_full()) release();
  });
  if (!look) return;
  patched_.Forget(live);
  look_pace_.Looked(now_ns, cost_ns);
}

}  // namespace coz::supervisor
