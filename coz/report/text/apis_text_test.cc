#include "coz/report/text/apis_text.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

ApiTable SmallTable() {
  ApiTable table;
  table.run_ns = 2'000'000'000;
  table.rows.push_back({"libz.so.1!deflate",
                        "server",
                        12345,
                        {12340, 500'000'000, 400'000'000},
                        {{"io", 12345, {12340, 500'000'000, 400'000'000}}},
                        {/*is_timed=*/true, /*ends_in_jump=*/false}});
  table.rows.push_back({"libz.so.1!crc32", "libpng.so", 7, {}, {{"main", 7, {}}}});
  return table;
}

TEST(ApisTextTest, ShowsARowForEachFunctionAndCaller) {
  EXPECT_EQ(RenderApis(SmallTable(), {}, {}),
            "  function           from        calls  wall time  of the run  CPU time   a call\n"
            "  libz.so.1!deflate  server     12,345      0.5 s      25.0 %     0.4 s  40.5 us\n"
            "  libz.so.1!crc32    libpng.so       7          -           -         -        -\n"
            "  -: the ends of these calls are not seen, so they have no time\n"
            "  libz.so.1!deflate from server: 5 of 12,345 calls have no time, as they were open at "
            "the end, or were left by an exception or longjmp\n");
}

TEST(ApisTextTest, MarksTimesThatEndWithAJump) {
  ApiTable table = SmallTable();
  EXPECT_THAT(RenderApis(table, {}, {}), Not(HasSubstr("jump:")));
  table.rows[0].timing.ends_in_jump = true;
  EXPECT_THAT(
      RenderApis(table, {}, {}),
      AllOf(HasSubstr("40.5 us  ends in a jump\n"),
            HasSubstr("\n  ends in a jump: to another function, whose time is not in it\n")));
}

TEST(ApisTextTest, SaysThatAllCallsAreWithoutATime) {
  ApiTable table = SmallTable();
  table.rows[1].timing.is_timed = true;
  EXPECT_THAT(
      RenderApis(table, {}, {}),
      AllOf(Not(HasSubstr("  -: ")), HasSubstr("crc32 from libpng.so: 7 of 7 calls have no")));
}

TEST(ApisTextTest, ShowsThreadsWhereItIsVerbose) {
  TextOptions options;
  EXPECT_THAT(RenderApis(SmallTable(), {}, options), Not(HasSubstr(" io ")));
  options.verbose = true;
  EXPECT_THAT(RenderApis(SmallTable(), {}, options), HasSubstr("    io       12,345"));
}

TEST(ApisTextTest, SaysHowManyRowsThereAreBeside) {
  TextOptions options;
  options.max_lines = 1;
  const std::string text = RenderApis(SmallTable(), {}, options);
  EXPECT_THAT(text, HasSubstr("and 1 more; for all: -n 0"));
  EXPECT_THAT(text, Not(HasSubstr("crc32")));
}

TEST(ApisTextTest, SaysWhatToTypeWhereThereAreNoCalls) {
  profile::Profile profile;
  EXPECT_THAT(RenderApis({}, profile, {}), HasSubstr("count them with `coz run --api LIBRARY`"));
  profile::Options& options = *profile.add_session()->mutable_options();
  options.set_attached_pid(4711);
  EXPECT_THAT(RenderApis({}, profile, {}), HasSubstr("count them with `coz attach --api LIBRARY`"));
  options.add_api("libevent%");
  EXPECT_THAT(RenderApis({}, profile, {}), HasSubstr("No call of libevent% was counted; where"));
}

}  // namespace
}  // namespace coz::report
