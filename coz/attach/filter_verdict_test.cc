#include "coz/attach/filter_verdict.h"

#include <linux/seccomp.h>
#include <unistd.h>

#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::attach {
namespace {

using ::testing::HasSubstr;

CallFilter Always(uint32_t answer) { return {BPF_STMT(BPF_RET | BPF_K, answer)}; }

// Two threads with one filter each.
FilterFacts TwoThreads() {
  FilterFacts facts = {100, 101, {{100, 1}, {101, 1}}};
  facts.filters = std::vector<CallFilter>{Always(SECCOMP_RET_ALLOW)};
  return facts;
}

void ExpectRefused(const FilterFacts& facts, const std::string& reason) {
  const absl::Status status = WhyNotUnderFilters(facts);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("cannot attach to process 100: "));
  EXPECT_THAT(status.message(), HasSubstr(reason));
}

TEST(FilterVerdictTest, FiltersThatLetCallsBeMadeOrFailDoNotMatter) {
  FilterFacts facts = TwoThreads();
  EXPECT_TRUE(WhyNotUnderFilters(facts).ok());
  facts.filters = std::vector<CallFilter>{Always(SECCOMP_RET_ERRNO)};
  EXPECT_TRUE(WhyNotUnderFilters(facts).ok());
}

TEST(FilterVerdictTest, FilterThatKillsIsNamedByItsCall) {
  FilterFacts facts = TwoThreads();
  facts.filters = std::vector<CallFilter>{Always(SECCOMP_RET_KILL_PROCESS)};
  ExpectRefused(facts, "a filter of its system calls would end it where coz makes it call ");
}

TEST(FilterVerdictTest, ThreadsOfOneProcessHaveToHaveTheSameFilters) {
  FilterFacts facts = TwoThreads();
  facts.counts[102] = 2;
  ExpectRefused(facts, "its threads 101 and 102 have different filters");
  facts.counts[102] = 0;
  ExpectRefused(facts, "its threads 101 and 102 have different filters");
}

TEST(FilterVerdictTest, FiltersThatCannotBeReadAreThoseOfTheContainerAtMost) {
  FilterFacts facts = TwoThreads();
  facts.filters = absl::FailedPreconditionError("only root may see them");
  ExpectRefused(facts, "restricted its own system calls, and only root may see them; type: sudo");
  facts.has_only_filters_of_container = true;
  EXPECT_TRUE(WhyNotUnderFilters(facts).ok());
  facts.counts[102] = 2;
  ExpectRefused(facts, "different filters");
}

TEST(FilterVerdictTest, NoCallIsMadeInTheStrictMode) {
  FilterFacts facts = TwoThreads();
  facts.counts = {{100, kStrictMode}, {101, kStrictMode}};
  ExpectRefused(facts, "the strict mode of its system calls");
}

TEST(FilterVerdictTest, FiltersOfThreadsAreCounted) {
  const std::map<pid_t, int64_t> counts = CountFilters(getpid());
  ASSERT_EQ(counts.count(gettid()), 1u);
  FilterFacts facts = {getpid(), gettid(), counts};
  EXPECT_TRUE(WhyNotUnderFilters(facts).ok());
}

}  // namespace
}  // namespace coz::attach
