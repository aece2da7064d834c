#include "coz/supervisor/target/neighbours.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "coz/base/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string Stat(const std::string& name, int user, int system, int start = 1000, int cpu = 1,
                 int of_children = 0) {
  return absl::StrCat("7 (", name, ") S 1 7 7 0 -1 4194304 9 9 0 0 ", user, " ", system, " ",
                      of_children, " 0 20 0 1 0 ", start,
                      " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 17 ", cpu, " 0 0\n");
}

TEST(NeighboursTest, StatTellsNameTimesAndStart) {
  const std::optional<ProcessTimes> times = ParseProcessStat(Stat("a ) (b", 30, 4, 1000, 1, 11));
  ASSERT_TRUE(times.has_value());
  EXPECT_EQ(times->name, "a ) (b");
  EXPECT_EQ(times->ticks, 34u);
  EXPECT_EQ(times->child_ticks, 11u);
  EXPECT_EQ(times->start_tick, 1000u);
  EXPECT_EQ(times->cpu, 1u);
  for (const char* text : {"", "7", "7 (a", "7 )a(", "7 (a) S 1 2", "7 (a)"}) {
    EXPECT_FALSE(ParseProcessStat(text).has_value()) << text;
  }
}

constexpr char kTcp[] =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
    "inode\n"
    "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 10 1 0 100\n"
    "   1: 0100007F:1F90 0100007F:D431 01 00000000:00000000 00:00000000 00000000 0 0 11 1 0 100\n"
    "   2: 0100007F:D431 0100007F:1F90 01 00000000:00000000 00:00000000 00000000 0 0 20 1 0 100\n"
    "   3: 0000000000000000FFFF00000100007F:1F91 0000000000000000FFFF00000100007F:D432 01 "
    "00000000:00000000 00:00000000 00000000 0 0 12 1 0 100\n"
    "   4: 0100007F:D432 0100007F:1F91 01 00000000:00000000 00:00000000 00000000 0 0 21 1 0 100\n";

TEST(NeighboursTest, TwoEndsOfAConnectionFindEachOther) {
  EXPECT_TRUE(AreConnected(kTcp, {20}, {10, 11}));
  EXPECT_TRUE(AreConnected(kTcp, {11}, {20}));
  EXPECT_FALSE(AreConnected(kTcp, {20}, {10, 12}));
  EXPECT_FALSE(AreConnected(kTcp, {20}, {}));
  EXPECT_TRUE(AreConnected(kTcp, {21}, {12})) << "one end is a socket for IPv6";
  EXPECT_FALSE(AreConnected("1 2\nx\n", {20}, {11}));
}

TEST(NeighboursTest, StatusTellsHowOftenAThreadHasWaited) {
  EXPECT_EQ(ParseWaits("Name:\tcc1\nvoluntary_ctxt_switches:\t42\n"
                       "nonvoluntary_ctxt_switches:\t7\n"),
            42u);
  EXPECT_EQ(ParseWaits("Name:\tcc1\nvoluntary_ctxt_switches:\t42"), 42u);
  EXPECT_FALSE(ParseWaits("Name:\tcc1\nnonvoluntary_ctxt_switches:\t7\n").has_value());
  EXPECT_FALSE(ParseWaits("\nvoluntary_ctxt_switches:\tmany\n").has_value());
  EXPECT_FALSE(ParseWaits("").has_value());
}

class NeighbourWatchTest : public ::testing::Test {
 protected:
  NeighbourWatchTest() {
    std::filesystem::remove_all(root_);  // an earlier run's
    Write("self/stat", "not a number");
  }

  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(proc_ + path).parent_path());
    std::ofstream(proc_ + path) << text;
  }
  void GiveSocket(int pid, int inode) {
    std::filesystem::create_directories(absl::StrCat(proc_, pid, "/fd"));
    std::filesystem::create_symlink(absl::StrCat("socket:[", inode, "]"),
                                    absl::StrCat(proc_, pid, "/fd/3"));
  }
  void SetWaits(int pid, int tid, int waits) {
    Write(absl::StrCat(pid, "/task/", tid, "/status"),
          absl::StrCat("Name:\ta\nvoluntary_ctxt_switches:\t", waits, "\n"));
  }
  uint64_t TicksNs(int ticks) {
    return static_cast<uint64_t>(ticks) * kNsPerSecond /
           static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  }

  const std::string root_ =
      ::testing::TempDir() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string proc_ = root_ + "/proc/";
  NeighbourWatch watch_{{true, true}, root_};
};

TEST_F(NeighbourWatchTest, NamesWhoGainedMostSinceTheFirstLook) {
  Write("10/stat", Stat("old", 900, 0));
  Write("11/stat", Stat("wrk", 0, 0));
  Write("12/stat", Stat("target", 0, 0));
  watch_.Look(0, {12});
  EXPECT_THAT(watch_.Busiest(9), IsEmpty());
  Write("10/stat", Stat("old", 901, 0));
  Write("11/stat", Stat("wrk", 50, 5));
  Write("12/stat", Stat("target", 500, 0));
  Write("13/stat", Stat("wrk", 7, 0));  // another one, new
  watch_.Look(2 * kNsPerSecond, {12});
  const auto busiest = watch_.Busiest(9);
  ASSERT_THAT(busiest, SizeIs(2));
  EXPECT_EQ(busiest[0].name, "wrk");
  EXPECT_EQ(busiest[0].cpu_ns, TicksNs(62));
  EXPECT_EQ(busiest[1].name, "old");
  EXPECT_EQ(busiest[1].cpu_ns, TicksNs(1));
  EXPECT_THAT(watch_.Busiest(1), SizeIs(1));
}

TEST_F(NeighbourWatchTest, ANumberThatIsUsedAgainIsAnotherProcess) {
  Write("10/stat", Stat("first", 900, 0, 1000));
  watch_.Look(0, {});
  Write("10/stat", Stat("second", 8, 0, 2000));
  watch_.Look(2 * kNsPerSecond, {});
  const auto busiest = watch_.Busiest(9);
  ASSERT_THAT(busiest, SizeIs(1));
  EXPECT_EQ(busiest[0].name, "second");
  EXPECT_EQ(busiest[0].cpu_ns, TicksNs(8));
}

TEST_F(NeighbourWatchTest, LooksEveryTwoSecondsAndSoonerAtFirst) {
  EXPECT_TRUE(watch_.IsDue(0));
  watch_.Look(0, {});
  EXPECT_FALSE(watch_.IsDue(200 * kNsPerMs));
  EXPECT_TRUE(watch_.IsDue(300 * kNsPerMs));
  watch_.Look(kNsPerSecond, {});
  EXPECT_FALSE(watch_.IsDue(2 * kNsPerSecond));
  EXPECT_TRUE(watch_.IsDue(3 * kNsPerSecond));
}

TEST_F(NeighbourWatchTest, ProgramsOnOtherCpusAreNoNeighbours) {
  Write("10/stat", Stat("a", 0, 0, 1000, 2));
  watch_.Look(0, {});
  Write("10/stat", Stat("a", 5, 0, 1000, 2));
  watch_.Look(2 * kNsPerSecond, {});
  EXPECT_THAT(watch_.Busiest(9), IsEmpty());
}

TEST_F(NeighbourWatchTest, BusiestIsKnownToTalkToTheTarget) {
  for (const int pid : {10, 11, 12}) Write(absl::StrCat(pid, "/stat"), Stat("a", 0, 0));
  Write("10/net/tcp", kTcp);
  GiveSocket(10, 20);
  GiveSocket(12, 11);
  watch_.Look(0, {12});
  Write("10/stat", Stat("wrk", 90, 0));
  Write("11/stat", Stat("other", 10, 0));
  watch_.Look(2 * kNsPerSecond, {12});
  const auto busiest = watch_.Busiest(9);
  ASSERT_THAT(busiest, SizeIs(2));
  EXPECT_TRUE(busiest[0].talks_to_target);
  EXPECT_FALSE(busiest[1].talks_to_target);
}

TEST_F(NeighbourWatchTest, NextBusiestHasItsTurnAtTheNextLook) {
  for (const int pid : {10, 11, 12}) Write(absl::StrCat(pid, "/stat"), Stat("a", 0, 0));
  Write("10/net/tcp", kTcp);
  GiveSocket(10, 20);
  GiveSocket(12, 11);
  watch_.Look(0, {12});
  for (const int look : {1, 2}) {
    Write("10/stat", Stat("wrk", 10 * look, 0));
    Write("11/stat", Stat("other", 90 * look, 0));
    watch_.Look(static_cast<uint64_t>(look) * 2 * kNsPerSecond, {12});
    EXPECT_EQ(watch_.Busiest(9).back().name, "wrk");
    EXPECT_EQ(watch_.Busiest(9).back().talks_to_target, look == 2);
  }
}

TEST_F(NeighbourWatchTest, WhoHardlyWaitsIsTireless) {
  const int second = static_cast<int>(sysconf(_SC_CLK_TCK));
  for (const int pid : {10, 11, 12, 13}) Write(absl::StrCat(pid, "/stat"), Stat("a", 0, 0));
  SetWaits(10, 10, 60);
  SetWaits(10, 110, 30);
  SetWaits(11, 11, 9000);
  SetWaits(12, 12, 0);
  SetWaits(13, 13, 0);
  watch_.Look(kNsPerSecond, {13});
  EXPECT_EQ(watch_.CpusOfTireless(), 0) << "nothing was gained yet";
  Write("10/stat", Stat("compiler", second, 0));
  Write("11/stat", Stat("wrk", second, 0));
  Write("12/stat", Stat("little", second / 50, 0));
  Write("13/stat", Stat("target", second, 0));
  watch_.Look(3 * kNsPerSecond, {13});
  EXPECT_DOUBLE_EQ(watch_.CpusOfTireless(), 0.5);
  SetWaits(10, 110, 3000);
  Write("10/stat", Stat("compiler", 2 * second, 0));
  watch_.Look(5 * kNsPerSecond, {13});
  EXPECT_EQ(watch_.CpusOfTireless(), 0);
}

// make, whose compilers end, and are judged by those that were seen. In a sandbox this
// process may have a small number, and coz itself is nobody's neighbour.
TEST_F(NeighbourWatchTest, WhoEndsBetweenLooksIsLikeTheYoung) {
  const int second = static_cast<int>(sysconf(_SC_CLK_TCK));
  const auto look = [this, second](int at, int seconds_of_children) {
    Write("4000010/stat", Stat("make", 0, 0, 1000, 1, seconds_of_children * second));
    watch_.Look(static_cast<uint64_t>(at) * kNsPerSecond, {});
    return watch_.CpusOfTireless();
  };
  look(1, 7);
  EXPECT_EQ(look(3, 8), 0) << "nobody knows what it was";
  Write("4000011/stat", Stat("cc1", second / 10, 0, 2000));
  SetWaits(4000011, 4000011, 2);
  EXPECT_DOUBLE_EQ(look(5, 9), 0.55) << "it, and what ended";
  // Its time is its parent's now, and of that it was counted.
  std::filesystem::remove_all(proc_ + "4000011");
  EXPECT_DOUBLE_EQ(look(7, 10), 0.45);
  // A client for each request uses as much, and waits often.
  Write("4000012/stat", Stat("curl", second / 10, 0, 3000));
  SetWaits(4000012, 4000012, 20);
  EXPECT_DOUBLE_EQ(look(9, 12), 0.5) << "half of the young";
  EXPECT_EQ(look(11, 12), 0) << "nothing has ended";
}

TEST_F(NeighbourWatchTest, WhoseWaitsAreNotKnownIsNotTireless) {
  const int second = static_cast<int>(sysconf(_SC_CLK_TCK));
  Write("10/stat", Stat("a", 0, 0));
  watch_.Look(kNsPerSecond, {});
  Write("10/stat", Stat("a", second, 0));
  watch_.Look(3 * kNsPerSecond, {});
  EXPECT_EQ(watch_.CpusOfTireless(), 0) << "no status";
  for (int tid = 100; tid < 140; ++tid) SetWaits(10, tid, 0);
  Write("10/stat", Stat("a", 2 * second, 0));
  watch_.Look(5 * kNsPerSecond, {});
  EXPECT_EQ(watch_.CpusOfTireless(), 0) << "more threads than are looked at";
}

}  // namespace
}  // namespace coz::supervisor
