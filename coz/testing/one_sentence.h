// What every refusal of a coz command looks like.
//
// Shape    its status, nothing on standard output, one line on standard error that starts with
//          "coz: "
// Errors   failed expectations of the test that calls it
// Threads  compatible
// Signals  not async-signal-safe
// Source   STYLE.md, errors
#ifndef COZ_TESTING_ONE_SENTENCE_H_
#define COZ_TESTING_ONE_SENTENCE_H_

#include <algorithm>
#include <string>

#include "coz/testing/run_command.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::testing {

// What coz ends with where the command line is wrong.
inline constexpr int kUsageStatus = 2;

// One sentence of ours with `part` in it, and nothing of a crash.
inline void ExpectOneSentence(const CommandResult& result, const std::string& part,
                              int status = 125) {
  EXPECT_EQ(result.status, status);
  EXPECT_EQ(result.output, "");
  EXPECT_THAT(result.errors, ::testing::StartsWith("coz: "));
  EXPECT_THAT(result.errors, ::testing::HasSubstr(part));
  EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1) << result.errors;
}

}  // namespace coz::testing

#endif  // COZ_TESTING_ONE_SENTENCE_H_
