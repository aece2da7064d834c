#include "coz/supervisor/doctor/machine_findings.h"

#include <cerrno>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

using report::Finding;
using report::Grade;
using ::testing::HasSubstr;
using ::testing::Not;

// Nothing is to be mended there.
MachineFacts GoodMachine() {
  MachineFacts facts;
  facts.kernel = "6.1.0-18-amd64";
  facts.perf_event_paranoid = 1;
  facts.sampling.status.source = sampler::SamplingSource::kPerfSigtrap;
  facts.sampling.status.kernel_included = true;
  facts.sampling.asked_period_ns = 900'000;
  facts.sampling.real_period_ns = 901'000;
  facts.sampling.sample_cost_ns = 2'000;
  facts.sample_rate_limit = 100'000;
  facts.thread_switch_cost_ns = 100;
  facts.process_switch_cost_ns = 1'500;
  facts.cpus = 8;
  facts.others_cpus = 0.1;
  facts.watched_s = 1;
  return facts;
}

Finding Of(const MachineFacts& facts, const std::string& subject) {
  for (Finding& finding : FindingsOfMachine(facts)) {
    if (finding.subject == subject) return finding;
  }
  return {};
}

TEST(MachineFindingsTest, GoodMachineHasNothingToMend) {
  for (const Finding& finding : FindingsOfMachine(GoodMachine())) {
    EXPECT_EQ(finding.grade, Grade::kGood) << finding.subject << ": " << finding.what;
    EXPECT_EQ(finding.remedy, "") << finding.subject;
    EXPECT_NE(finding.what, "") << finding.subject;
  }
  EXPECT_EQ(FindingsOfMachine(GoodMachine()).size(), 9u);
}

TEST(MachineFindingsTest, OldKernelIsToldFromANewOne) {
  MachineFacts facts = GoodMachine();
  for (const char* old : {"5.18.19", "4.19.0-26-amd64"}) {
    facts.kernel = old;
    EXPECT_EQ(Of(facts, "kernel").grade, Grade::kWarning) << old;
    EXPECT_THAT(Of(facts, "kernel").remedy, HasSubstr("5.19"));
  }
  facts.kernel = "5.19.0";
  EXPECT_EQ(Of(facts, "kernel").grade, Grade::kGood);
}

TEST(MachineFindingsTest, RefusedPerfEventsNameTheSetting) {
  MachineFacts facts = GoodMachine();
  facts.perf_event_paranoid = 3;
  facts.sampling.status.source = sampler::SamplingSource::kCpuTimer;
  facts.sampling.status.perf_sigtrap_errno = EACCES;
  facts.sampling.real_period_ns = 4'000'000;
  const Finding permission = Of(facts, "permission");
  EXPECT_EQ(permission.grade, Grade::kWarning);
  EXPECT_THAT(permission.what, HasSubstr("kernel.perf_event_paranoid is 3"));
  EXPECT_EQ(permission.remedy, "sudo sysctl kernel.perf_event_paranoid=2");
  EXPECT_THAT(Of(facts, "sampling").what, HasSubstr("cpu-timer, a sample each 4.00 ms"));
  EXPECT_EQ(Of(facts, "sampling").grade, Grade::kWarning);
}

// The setting would allow it, and the container's filter does not.
TEST(MachineFindingsTest, InAContainerTheFilterIsLifted) {
  MachineFacts facts = GoodMachine();
  facts.is_container = true;
  facts.sampling.status.source = sampler::SamplingSource::kCpuTimer;
  facts.sampling.status.perf_sigtrap_errno = EPERM;
  facts.has_perfmon = false;
  EXPECT_THAT(Of(facts, "permission").remedy, HasSubstr("docker run --cap-add=PERFMON"));
  facts.has_perfmon = true;
  EXPECT_THAT(Of(facts, "permission").remedy, HasSubstr("--security-opt seccomp=unconfined"));
}

TEST(MachineFindingsTest, KernelTimeIsAMatterOfItsOwn) {
  MachineFacts facts = GoodMachine();
  facts.sampling.status.kernel_included = false;
  facts.sampling.status.kernel_errno = EACCES;
  EXPECT_EQ(Of(facts, "permission").grade, Grade::kNote);
  EXPECT_EQ(Of(facts, "permission").remedy, "sudo sysctl kernel.perf_event_paranoid=1");
}

TEST(MachineFindingsTest, WithoutASourceNothingCanBeProfiled) {
  MachineFacts facts = GoodMachine();
  facts.sampling.status = {};
  facts.sampling.status.perf_sigtrap_errno = EPERM;
  facts.sampling.status.cpu_timer_errno = EPERM;
  EXPECT_EQ(Of(facts, "permission").grade, Grade::kProblem);
  EXPECT_EQ(Of(facts, "sampling").grade, Grade::kProblem);
}

TEST(MachineFindingsTest, HeldBackSamplesAndTheirLimitAreNamed) {
  MachineFacts facts = GoodMachine();
  facts.sample_rate_limit = 500;
  facts.sampling.real_period_ns = 2'000'000;
  EXPECT_THAT(Of(facts, "sample rate").what, HasSubstr("allows 500 samples a second"));
  EXPECT_THAT(Of(facts, "sampling").what, HasSubstr("held back"));
  EXPECT_THAT(Of(facts, "sampling").remedy, HasSubstr("perf_event_max_sample_rate"));
}

TEST(MachineFindingsTest, DearSamplesAskForFewer) {
  MachineFacts facts = GoodMachine();
  facts.sampling.sample_cost_ns = 30'000;
  EXPECT_THAT(Of(facts, "cost of a sample").what, HasSubstr("30.0 us"));
  EXPECT_THAT(Of(facts, "cost of a sample").what, HasSubstr("3.3 %"));
  EXPECT_THAT(Of(facts, "cost of a sample").remedy, HasSubstr("--sampling-period=2"));
}

TEST(MachineFindingsTest, DearSwitchesAreNoted) {
  MachineFacts facts = GoodMachine();
  facts.process_switch_cost_ns = 45'000;
  EXPECT_EQ(Of(facts, "cost of a switch").grade, Grade::kNote);
  EXPECT_THAT(Of(facts, "cost of a switch").what, HasSubstr("45.0 us between processes"));
  EXPECT_THAT(Of(facts, "cost of a switch").what, HasSubstr("changes to CPU timers by itself"));
  facts.clock_switch_cost_ns = 1'200;
  EXPECT_THAT(Of(facts, "cost of a switch").what,
              HasSubstr("(1.2 us with --sampler=cpu-clock); where"));
}

TEST(MachineFindingsTest, VirtualMachineIsToBeKeptAwake) {
  MachineFacts facts = GoodMachine();
  facts.idle.is_virtual = true;
  facts.idle.idle_driver = "haltpoll";
  EXPECT_THAT(Of(facts, "idle CPUs").what, HasSubstr("(haltpoll)"));
  EXPECT_EQ(Of(facts, "idle CPUs").remedy, "sudo coz run --awake …");
  facts.may_keep_awake = true;
  EXPECT_EQ(Of(facts, "idle CPUs").remedy, "coz run --awake …");
}

TEST(MachineFindingsTest, WhereNoDriverKeepsCpusAwakeTheOptionIsNotAdvised) {
  MachineFacts facts = GoodMachine();
  facts.idle.is_virtual = true;
  facts.idle.idle_driver = "none";
  facts.wake_cost = WakeCost{{7'000, 5'000}, {61'000, 28'000}};
  EXPECT_THAT(Of(facts, "idle CPUs").what, HasSubstr("after 61 us, and after 7 us"));
  EXPECT_THAT(Of(facts, "idle CPUs").remedy, HasSubstr("idle=poll"));
  EXPECT_THAT(Of(facts, "idle CPUs").remedy, HasSubstr("--awake has no effect"));
}

TEST(MachineFindingsTest, QuotaBelowTheCpusIsNamedWithAFix) {
  MachineFacts facts = GoodMachine();
  facts.cpu_quota = 2.5;
  EXPECT_EQ(Of(facts, "quota").grade, Grade::kWarning);
  EXPECT_THAT(Of(facts, "quota").what, HasSubstr("2.5 CPUs of 8"));
  EXPECT_THAT(Of(facts, "quota").remedy, HasSubstr("taskset -c 0-1"));
  facts.cpu_quota = 0.5;
  EXPECT_THAT(Of(facts, "quota").remedy, Not(HasSubstr("taskset")));
  facts.cpu_quota = 8;
  EXPECT_EQ(Of(facts, "quota").grade, Grade::kGood);
}

TEST(MachineFindingsTest, BusyNeighboursAndTheHostAreNamed) {
  MachineFacts facts = GoodMachine();
  facts.others_cpus = 3.2;
  facts.watched_s = 2;
  NeighbourWatch::Neighbour neighbour;
  neighbour.name = "cc1plus";
  neighbour.cpu_ns = 5'000'000'000;
  facts.neighbours = {neighbour};
  facts.stolen_share = 0.2;
  EXPECT_THAT(Of(facts, "neighbours").what,
              HasSubstr("3.2 of 8 CPUs, the busiest of them cc1plus (2.5)"));
  EXPECT_THAT(Of(facts, "steal").what, HasSubstr("20 %"));
}

TEST(MachineFindingsTest, OneCpuIsTooFew) {
  MachineFacts facts = GoodMachine();
  facts.cpus = 1;
  EXPECT_EQ(Of(facts, "CPUs").grade, Grade::kWarning);
}

TEST(MachineFactsTest, KernelVersionIsParsed) {
  EXPECT_EQ(ParseKernelVersion("6.12.3-custom").minor, 12);
  EXPECT_EQ(ParseKernelVersion("no version").major, 0);
}

TEST(MachineFactsTest, CapabilitiesAreBits) {
  const std::string status = "Name:\tx\nCapInh:\t0000000000000000\nCapEff:\t0000004000000000\n";
  EXPECT_TRUE(HasCapability(status, 38));
  EXPECT_FALSE(HasCapability(status, 21));
  EXPECT_FALSE(HasCapability("", 38));
}

// On whatever machine the test runs: what was looked at fits together.
TEST(MachineFactsTest, ThisMachineIsLookedAt) {
  const MachineFacts facts = LookAtMachine();
  EXPECT_GT(ParseKernelVersion(facts.kernel).major, 0);
  EXPECT_GE(facts.cpus, 1);
  EXPECT_GE(facts.others_cpus, 0);
  EXPECT_LE(facts.others_cpus, facts.cpus + 0.01);
  EXPECT_GT(facts.sampling.asked_period_ns, 0u);
  if (facts.sampling.status.source == sampler::SamplingSource::kNone) GTEST_SKIP() << "no source";
  EXPECT_GT(facts.sampling.real_period_ns, 0u);
}

}  // namespace
}  // namespace coz::supervisor
