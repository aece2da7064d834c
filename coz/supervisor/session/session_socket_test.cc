#include "coz/supervisor/session/session_socket.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "coz/supervisor/session/ask_session.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

std::vector<SessionRequest> Wait(SessionSocket* session, size_t count) {
  std::vector<SessionRequest> requests;
  while (requests.size() < count) {
    pollfd fd = {session->fd(), POLLIN, 0};
    poll(&fd, 1, -1);
    for (SessionRequest& request : session->Take()) requests.push_back(std::move(request));
  }
  return requests;
}

std::future<absl::StatusOr<std::string>> Ask(const std::string& request) {
  return std::async(std::launch::async, [request] { return AskSession(getpid(), request); });
}

TEST(SessionSocketTest, RequestIsAnswered) {
  auto session = SessionSocket::Open({getpid()});
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_THAT(RunningSessions(), Contains(getpid()));
  auto first = Ask("add a place");
  const std::vector<SessionRequest> requests = Wait(&*session, 1);
  EXPECT_EQ(requests[0].verb, "add");
  EXPECT_EQ(requests[0].text, "a place");
  session->Answer(requests[0].client, "done\nand more");
  EXPECT_EQ(*first.get(), "done\nand more");
}

TEST(SessionSocketTest, TwoClientsGetTheirOwnAnswers) {
  auto session = SessionSocket::Open({getpid()});
  ASSERT_TRUE(session.ok()) << session.status();
  auto first = Ask("one");
  auto second = Ask("two");
  const std::vector<SessionRequest> requests = Wait(&*session, 2);
  session->Answer(requests[1].client, "of " + requests[1].verb);
  session->Answer(requests[0].client, absl::NotFoundError("not " + requests[0].verb));
  const auto one = first.get();
  const auto two = second.get();
  const bool one_came_first = requests[0].verb == "one";
  EXPECT_EQ(one_came_first ? *two : *one, one_came_first ? "of two" : "of one");
  EXPECT_EQ((one_came_first ? one : two).status().message(),
            one_came_first ? "not one" : "not two");
}

TEST(SessionSocketTest, SessionThatEndsIsSaid) {
  auto session = SessionSocket::Open({getpid()});
  ASSERT_TRUE(session.ok()) << session.status();
  auto answer = Ask("list");
  Wait(&*session, 1);
  { const SessionSocket gone = *std::move(session); }
  EXPECT_THAT(std::string(answer.get().status().message()), HasSubstr("has ended before"));
  EXPECT_THAT(std::string(AskSession(getpid(), "list").status().message()),
              HasSubstr("belongs to no session"));
}

TEST(SessionSocketTest, ClientThatIsGoneIsForgotten) {
  auto session = SessionSocket::Open({getpid()});
  ASSERT_TRUE(session.ok()) << session.status();
  const pid_t child = fork();
  if (child == 0) _exit(AskSession(getppid(), "list").ok() ? 0 : 1);
  const std::vector<SessionRequest> requests = Wait(&*session, 1);
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  session->Answer(requests[0].client, "too late");
  EXPECT_TRUE(session->Take().empty());
}

// A child finds its parent's session.
TEST(SessionSocketTest, DescendantFindsTheSession) {
  auto session = SessionSocket::Open({getpid()});
  ASSERT_TRUE(session.ok()) << session.status();
  const pid_t child = fork();
  if (child == 0) _exit(AskSession(getpid(), "list").ok() ? 0 : 1);
  const std::vector<SessionRequest> requests = Wait(&*session, 1);
  session->Answer(requests[0].client, "here");
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(SessionSocketTest, NameThatIsTakenIsSaid) {
  auto session = SessionSocket::Open({getpid()});
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_FALSE(SessionSocket::Open({getpid()}).ok());
}

}  // namespace
}  // namespace coz::supervisor
