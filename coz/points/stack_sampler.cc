#include "coz/points/stack_sampler.h"

#include <asm/perf_regs.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/base/names_in.h"
#include "coz/base/spared_calls.h"
#include "coz/points/cpu_list.h"

namespace coz::points {
namespace {

constexpr size_t kPageBytes = 4096;
// Fits, with its header, what a user may lock for each CPU (kernel.perf_event_mlock_kb, 516).
constexpr size_t kRingBytes = 64 * kPageBytes;
// Large enough for functions with tables on the stack. A ring holds 15 such samples.
constexpr uint32_t kStackBytes = 16384;

perf_event_attr Attributes(uint64_t sampling_period_ns) {
  perf_event_attr attr;
  memset(&attr, 0, sizeof(attr));
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_TASK_CLOCK;
  attr.sample_period = sampling_period_ns;
  attr.sample_type = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  attr.sample_regs_user = uint64_t{1} << PERF_REG_X86_IP;
  attr.sample_stack_user = kStackBytes;
  attr.exclude_hv = 1;
  attr.inherit = 1;
  attr.remove_on_exec = 1;  // addresses mean something else in the next program
  return attr;
}

int Open(perf_event_attr attr, pid_t thread, int cpu) {
  const auto open = [&] {
    return SparedCall<SYS_perf_event_open>(&attr, thread, cpu, -1, PERF_FLAG_FD_CLOEXEC);
  };
  int fd = open();
  if (fd < 0 && (errno == EACCES || errno == EPERM)) {
    attr.exclude_kernel = 1;
    fd = open();
  }
  if (fd < 0 && errno == EINVAL) {
    attr.remove_on_exec = 0;  // before Linux 5.13
    fd = open();
  }
  return fd;
}

absl::Status StartError(int error) {
  if (error == EACCES || error == EPERM) {
    return absl::PermissionDeniedError(
        absl::StrCat("the program cannot be sampled, as perf_event_open is not permitted here; ",
                     IsFiltered(SYS_perf_event_open)
                         ? kAllowPerfEvents
                         : "allow it with: sudo sysctl kernel.perf_event_paranoid=2"));
  }
  if (error == ESRCH) return absl::NotFoundError("the program ended before it could be sampled");
  return absl::UnavailableError(absl::StrFormat(
      "the program cannot be sampled (perf_event_open: %s); name a place yourself with "
      "`coz run --progress=PLACE`",
      strerror(error)));
}

// Bytes of the ring from a position on, which may run over its end.
class RingReader {
 public:
  RingReader(const char* data, uint64_t at, uint64_t end) : data_(data), at_(at), end_(end) {}

  bool Read(void* out, size_t bytes) {
    if (end_ - at_ < bytes) return false;
    const size_t begin = at_ % kRingBytes;
    const size_t first = std::min(bytes, kRingBytes - begin);
    memcpy(out, data_ + begin, first);
    memcpy(static_cast<char*>(out) + first, data_, bytes - first);
    at_ += bytes;
    return true;
  }

 private:
  const char* data_;
  uint64_t at_;
  uint64_t end_;
};

void HandOut(RingReader record, const StackSampler::Callback& callback) {
  uint64_t abi = 0;
  uint64_t ip = 0;
  uint64_t bytes = 0;
  // A kernel thread has no registers of user code.
  if (!record.Read(&abi, sizeof(abi)) || abi == PERF_SAMPLE_REGS_ABI_NONE ||
      !record.Read(&ip, sizeof(ip)) || !record.Read(&bytes, sizeof(bytes)) || bytes > kStackBytes) {
    return;
  }
  std::vector<uint64_t> stack(bytes / sizeof(uint64_t));
  uint64_t read_bytes = 0;
  if (bytes != 0 && (!record.Read(stack.data(), bytes) ||
                     !record.Read(&read_bytes, sizeof(read_bytes)) || read_bytes > bytes)) {
    return;
  }
  stack.resize(read_bytes / sizeof(uint64_t));
  callback(ip, stack);
}

}  // namespace

void StackSampler::Unmap::operator()(void* ring) const { munmap(ring, kPageBytes + kRingBytes); }

absl::StatusOr<StackSampler> StackSampler::Start(pid_t process, uint64_t sampling_period_ns) {
  StackSampler sampler(sampling_period_ns);
  if (absl::Status added = sampler.Add(process); !added.ok()) return added;
  return sampler;
}

int StackSampler::AddTo(Ring* ring, UniqueFd event) {
  if (!event.ok()) return errno;
  if (ring->memory != nullptr) {
    if (ioctl(event.get(), PERF_EVENT_IOC_SET_OUTPUT, ring->events.front().get()) != 0) {
      return errno;
    }
  } else {
    void* const memory =
        mmap(nullptr, kPageBytes + kRingBytes, PROT_READ | PROT_WRITE, MAP_SHARED, event.get(), 0);
    if (memory == MAP_FAILED) return errno;
    ring->memory.reset(memory);
  }
  ring->events.push_back(std::move(event));
  return 0;
}

absl::Status StackSampler::Add(pid_t process) {
  const perf_event_attr attr = Attributes(sampling_period_ns_);
  const std::vector<int> cpus = PossibleCpus();
  int error = ESRCH;
  bool is_sampled = false;
  for (const std::string& name : NamesIn(absl::StrFormat("/proc/%d/task", process))) {
    const pid_t thread = atoi(name.c_str());
    for (const int cpu : cpus) {
      // Inherited events can be read only if they are of one CPU.
      const int failed = AddTo(&rings_[cpu], UniqueFd(Open(attr, thread, cpu)));
      is_sampled |= failed == 0;
      if (failed != 0 && failed != ENODEV) error = failed;  // ENODEV: the CPU is off
    }
  }
  return is_sampled ? absl::OkStatus() : StartError(error);
}

void StackSampler::Drain(const Callback& callback) {
  for (const auto& [cpu, ring] : rings_) {
    if (ring.memory == nullptr) continue;
    auto* header = static_cast<perf_event_mmap_page*>(ring.memory.get());
    const char* data = static_cast<const char*>(ring.memory.get()) + kPageBytes;
    const uint64_t head = __atomic_load_n(&header->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = header->data_tail;  // written by us alone
    while (tail < head) {
      perf_event_header record;
      RingReader reader(data, tail, head);
      if (!reader.Read(&record, sizeof(record)) || record.size < sizeof(record)) break;
      if (record.type == PERF_RECORD_SAMPLE) {
        HandOut(RingReader(data, tail + sizeof(record), tail + record.size), callback);
      }
      tail += record.size;
    }
    // The kernel may overwrite what lies before the tail.
    __atomic_store_n(&header->data_tail, head, __ATOMIC_RELEASE);
  }
}

}  // namespace coz::points
