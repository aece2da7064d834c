#include "coz/report/wording/next_command.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace coz::report {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;

profile::Session Started(const char* program) {
  profile::Session session;
  session.add_command(program);
  session.add_command("./app");
  session.mutable_options()->add_binary_scope("MAIN");
  return session;
}

TEST(NextCommandTest, OptionsAreKept) {
  profile::Session session = Started("./app");
  session.set_seed(7);
  session.mutable_options()->add_progress("Serve");
  session.mutable_options()->set_follow("all");
  const NextCommands next = NextCommandsOf(session, "");
  EXPECT_EQ(next.again, "coz run --progress=Serve --follow=all --- ./app ./app");
  EXPECT_EQ(next.widened,
            "coz run --progress=Serve --binary-scope=% --source-scope=% --follow=all --- ./app "
            "./app");
}

TEST(NextCommandTest, DurationThatMayBeTooShortIsNotKept) {
  profile::Session session = Started("./app");
  session.mutable_options()->set_duration_ns(2 * kSecondNs);
  EXPECT_EQ(NextCommandsOf(session, "").again, "coz run --- ./app ./app");
  session.mutable_options()->set_duration_ns(60 * kSecondNs);
  EXPECT_EQ(NextCommandsOf(session, "").again, "coz run --duration=60 --- ./app ./app");
}

TEST(NextCommandTest, WorkerIsFollowedAndInScope) {
  const NextCommands next = NextCommandsOf(Started("timeout"), "app");
  EXPECT_EQ(next.again, "coz run --binary-scope=%app --follow=all --- timeout ./app");
}

TEST(NextCommandTest, ScopeThatWasAskedForIsKept) {
  profile::Session session = Started("timeout");
  session.mutable_options()->set_binary_scope(0, "libz.so%");
  EXPECT_EQ(NextCommandsOf(session, "app").again,
            "coz run --binary-scope=libz.so% --follow=all --- timeout ./app");
}

TEST(NextCommandTest, ScopeIsWidenedToWhatIsKnownOfTheWorker) {
  profile::Session session = Started("timeout");
  session.mutable_options()->add_source_scope("app.c");
  EXPECT_EQ(NextCommandsOf(session, "app").widened,
            "coz run --unit=function --binary-scope=%app --follow=all --- timeout ./app");
  session.mutable_options()->set_unit_kind(profile::UNIT_KIND_FUNCTION);
  EXPECT_EQ(NextCommandsOf(session, "app").widened,
            "coz run --unit=function --binary-scope=%app --follow=all --- timeout ./app");
  session.mutable_options()->set_binary_scope(0, "%app");
  EXPECT_EQ(NextCommandsOf(session, "app").widened,
            "coz run --unit=library --binary-scope=%app --follow=all --- timeout ./app");
}

TEST(NextCommandTest, AttachedProcessIsAttachedToAgain) {
  profile::Session session = Started("./app");
  session.mutable_options()->set_attached_pid(4711);
  session.mutable_options()->set_duration_ns(2 * kSecondNs);
  const NextCommands next = NextCommandsOf(session, "app");
  EXPECT_EQ(next.again, "coz attach --duration=2 4711");
  EXPECT_EQ(next.longer, "coz attach --duration=60 4711");
  EXPECT_EQ(next.counting, "coz attach --progress=FUNCTION --duration=2 4711");
  EXPECT_EQ(next.listing, "coz points --pid=4711");
  EXPECT_EQ(next.widened,
            "coz attach --unit=function --binary-scope=% --source-scope=% --duration=2 4711");
  *session.mutable_options()->mutable_binary_scope(0) = "%";
  session.mutable_options()->set_unit_kind(profile::UNIT_KIND_FUNCTION);
  EXPECT_EQ(NextCommandsOf(session, "", /*has_ended=*/true).widened,
            "coz attach --unit=library --binary-scope=% --source-scope=% --duration=2 PID");
  session.mutable_options()->set_attached_tree(true);
  EXPECT_EQ(NextCommandsOf(session, "", /*has_ended=*/true).listing, "coz points --pid=PID --tree");
}

}  // namespace
}  // namespace coz::report
