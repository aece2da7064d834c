#include "coz/sampler/sampler_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace coz::sampler {
namespace {

using ::testing::HasSubstr;

TEST(SamplerStatusTest, NamesParseBack) {
  for (auto source :
       {SamplingSource::kPerfSigtrap, SamplingSource::kPerfSetsig, SamplingSource::kCpuTimer}) {
    SamplingSource parsed = SamplingSource::kNone;
    EXPECT_TRUE(ParseSamplingSource(SamplingSourceName(source), &parsed));
    EXPECT_EQ(parsed, source);
  }
}

TEST(SamplerStatusTest, AutoMeansTheBestAndOtherTextIsRefused) {
  SamplingSource source = SamplingSource::kCpuTimer;
  EXPECT_FALSE(ParseSamplingSource("perf", &source));
  EXPECT_FALSE(ParseSamplingSource("none", &source));
  EXPECT_EQ(source, SamplingSource::kCpuTimer);
  EXPECT_TRUE(ParseSamplingSource("auto", &source));
  EXPECT_EQ(source, SamplingSource::kNone);
}

TEST(SamplerStatusTest, BestSourceNeedsNoExplanation) {
  SamplerStatus status;
  status.source = SamplingSource::kPerfSigtrap;
  status.kernel_included = true;
  EXPECT_EQ(ExplainSamplerStatus(status), "");
}

TEST(SamplerStatusTest, RefusedKernelTimeComesWithItsCommand) {
  SamplerStatus status;
  status.source = SamplingSource::kPerfSigtrap;
  status.kernel_errno = EACCES;
  EXPECT_THAT(ExplainSamplerStatus(status), HasSubstr("Permission denied"));
  EXPECT_THAT(ExplainSamplerStatus(status), HasSubstr("sudo sysctl kernel.perf_event_paranoid=1"));
}

TEST(SamplerStatusTest, FallbackNamesTheErrorAndItsCommand) {
  SamplerStatus status;
  status.source = SamplingSource::kCpuTimer;
  status.perf_sigtrap_errno = EPERM;
  status.perf_setsig_errno = EPERM;
  const std::string text = ExplainSamplerStatus(status);
  EXPECT_THAT(text, HasSubstr("CPU timers"));
  EXPECT_THAT(text, HasSubstr("Operation not permitted"));
  EXPECT_THAT(text, HasSubstr("sudo sysctl kernel.perf_event_paranoid=2"));
  EXPECT_THAT(text, HasSubstr("docker run --cap-add=PERFMON"));
  EXPECT_THAT(text, HasSubstr("podman, and Docker before 23: --security-opt seccomp=unconfined"));
}

TEST(SamplerStatusTest, OldKernelIsToldToBeReplaced) {
  SamplerStatus status;
  status.source = SamplingSource::kPerfSetsig;
  status.perf_sigtrap_errno = EOPNOTSUPP;
  EXPECT_THAT(ExplainSamplerStatus(status), HasSubstr("5.19"));
}

TEST(SamplerStatusTest, NothingWorksNamesEverythingThatWasTried) {
  SamplerStatus status;
  status.perf_sigtrap_errno = EACCES;
  status.perf_setsig_errno = EACCES;
  status.cpu_timer_errno = EAGAIN;
  const std::string text = ExplainSamplerStatus(status);
  EXPECT_THAT(text, HasSubstr("not profiled"));
  EXPECT_THAT(text, HasSubstr("SIGTRAP (Permission denied)"));
  EXPECT_THAT(text, HasSubstr("F_SETSIG (Permission denied)"));
  EXPECT_THAT(text, HasSubstr("CPU timers (Resource temporarily unavailable)"));
  EXPECT_THAT(text, HasSubstr("sudo sysctl"));
}

TEST(SamplerStatusTest, RefusedOptionsAreNoRefusalOfTheSystem) {
  SamplerStatus status;
  status.options_errno = EINVAL;
  EXPECT_THAT(ExplainSamplerStatus(status), HasSubstr("no callback"));
  status.options_errno = EBUSY;
  EXPECT_THAT(ExplainSamplerStatus(status), HasSubstr("call StopSampler first"));
}

TEST(SamplerStatusTest, ForcedTimerWithoutRoomNamesTheLimit) {
  SamplerStatus status;
  status.cpu_timer_errno = EAGAIN;
  EXPECT_THAT(ExplainSamplerStatus(status), HasSubstr("ulimit -i"));
}

}  // namespace
}  // namespace coz::sampler
