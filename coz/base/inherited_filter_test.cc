#include "coz/base/inherited_filter.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <vector>

#include "gtest/gtest.h"

namespace coz {
namespace {

struct Rule {
  long number;
  uint32_t answer;
};

bool Install(const std::vector<Rule>& rules) {
  std::vector<sock_filter> code = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const Rule& rule : rules) {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(rule.number), 0, 1));
    code.push_back(BPF_STMT(BPF_RET | BPF_K, rule.answer));
  }
  code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program = {static_cast<uint16_t>(code.size()), code.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Whether `holds` does in a process that has inherited these rules.
template <typename Condition>
bool HoldsUnder(const std::vector<Rule>& rules, Condition holds) {
  const pid_t child = fork();
  if (child == 0) _exit(Install(rules) && holds(CallsOfInheritedFilter()) ? 0 : 1);
  int status = -1;
  return waitpid(child, &status, 0) == child && status == 0;
}

TEST(InheritedFilterTest, NothingIsFilteredThatAFilterAllows) {
  EXPECT_TRUE(HoldsUnder({{SYS_reboot, SECCOMP_RET_KILL_PROCESS}}, [](const FilteredCalls& calls) {
    return calls.deadly == 0 && calls.filtered == 0 && calls.needed.empty();
  }));
}

TEST(InheritedFilterTest, CallsThatEndAProcessAreFoundAndNotMade) {
  const std::vector<Rule> rules = {{SYS_perf_event_open, SECCOMP_RET_KILL_PROCESS},
                                   {SYS_membarrier, SECCOMP_RET_TRAP},
                                   {SYS_ptrace, SECCOMP_RET_KILL_THREAD}};
  EXPECT_TRUE(HoldsUnder(rules, [](const FilteredCalls& calls) {
    return calls.deadly ==
               (CallBit(SYS_perf_event_open) | CallBit(SYS_membarrier) | CallBit(SYS_ptrace)) &&
           SparedCall<SYS_perf_event_open>(nullptr, 0, -1, -1, 0) == -1 && errno == EPERM &&
           SparedRawCall<SYS_membarrier>(0, 0, 0) == -EPERM;
  }));
}

TEST(InheritedFilterTest, CallsThatFailAreMade) {
  EXPECT_TRUE(HoldsUnder({{SYS_kcmp, SECCOMP_RET_ERRNO | ENOSYS}}, [](const FilteredCalls& calls) {
    return calls.deadly == 0 && IsFiltered(SYS_kcmp) && !IsFiltered(SYS_ptrace) &&
           SparedRawCall<SYS_kcmp>(getpid(), getpid(), 0, 0, 0) == -ENOSYS;
  }));
}

TEST(InheritedFilterTest, NeededCallsAreNamed) {
  EXPECT_TRUE(HoldsUnder({{SYS_memfd_create, SECCOMP_RET_KILL_PROCESS},
                          {SYS_prctl, SECCOMP_RET_KILL_PROCESS},
                          {SYS_utimensat, SECCOMP_RET_ERRNO | EPERM}},
                         [](const FilteredCalls& calls) {
                           return calls.needed == "prctl memfd_create" && calls.deadly == 0;
                         }));
}

}  // namespace
}  // namespace coz
