// What every refusal of a coz command looks like.
//
// Shape    its status, nothing on standard output, one line on standard error that starts with
//          "coz: ", says what to do behind a ";" or a ":", and takes at most three rows of 100
//          columns, were each name as short as a user's
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

// Paths of tests are longer than those of users, so no word counts for more than 30 letters.
inline size_t LengthWithShortNames(const std::string& text) {
  constexpr size_t kLongestName = 30;
  size_t length = 0;
  size_t word = 0;
  for (const char letter : text) {
    word = letter == ' ' ? 0 : word + 1;
    length += word <= kLongestName ? 1 : 0;
  }
  return length;
}

// One sentence of ours with `part` in it, and nothing of a crash.
inline void ExpectOneSentence(const CommandResult& result, const std::string& part,
                              int status = 125) {
  EXPECT_EQ(result.status, status);
  EXPECT_EQ(result.output, "");
  EXPECT_THAT(result.errors, ::testing::StartsWith("coz: "));
  EXPECT_THAT(result.errors, ::testing::HasSubstr(part));
  EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1) << result.errors;
  EXPECT_THAT(result.errors.substr(5), ::testing::ContainsRegex("[;:] ")) << "what to do?";
  EXPECT_LE(LengthWithShortNames(result.errors), 300u) << result.errors;
}

}  // namespace coz::testing

#endif  // COZ_TESTING_ONE_SENTENCE_H_
