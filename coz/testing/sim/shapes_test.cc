// The example programs of docs/interpreting.md in simulated time, where the right answers are known
// exactly.
#include "coz/base/clock.h"
#include "coz/testing/sim/accuracy.h"
#include "gtest/gtest.h"

namespace coz::sim {
namespace {

constexpr uint32_t kRing = 0;  // variables
constexpr uint32_t kTaken = 1;
constexpr int64_t kRingFrames = 4;

// examples/overload.cc: line 0 receives, 1 looks, 2 answers.
Program Overload() {
  Program program;
  program.lines = 3;
  program.points = 1;
  program.variables = 2;
  program.mutexes = 1;
  program.conditions = 1;
  program.codes.resize(2);
  CodeBuilder receiver(&program.codes[0]);
  receiver.Work(0, 4 * kNsPerMs).On(OpKind::kLock, 0);
  const uint32_t if_room = receiver.Here();
  program.codes[0].push_back({OpKind::kJumpIfLess, kRing, if_room + 2, 0, kRingFrames});
  receiver.Increase(kRing, -1);  // the frame is dropped
  receiver.Increase(kRing, 1).On(OpKind::kSignal, 0).On(OpKind::kUnlock, 0).Jump(0);
  CodeBuilder server(&program.codes[1]);
  server.On(OpKind::kLock, 0);
  server.WhileLess(kRing, 1, [](CodeBuilder& c) { c.CondWait(0, 0); });
  server.WhileNotLess(kRing, 1, [](CodeBuilder& c) { c.Increase(kRing, -1).Increase(kTaken, 1); });
  server.On(OpKind::kUnlock, 0);
  server.WhileNotLess(kTaken, 1,
                      [](CodeBuilder& c) { c.Increase(kTaken, -1).Work(1, 400 * kNsPerUs); });
  server.Work(2, 1600 * kNsPerUs).On(OpKind::kProgress, 0).Jump(0);
  program.threads = {0, 1};
  return program;
}

// The program speedup in answers when frames come every `frame_ms` instead of every 4 ms.
double ProgramSpeedup(double frame_ms) {
  const double longest_round_ms = 1.6 + 0.4 * kRingFrames;
  // While the server is always busy, a round takes 1.6 ms plus 0.4 ms for each frame that has come
  // meanwhile.
  const double round_ms = 1.6 / (1 - 0.4 / frame_ms);
  if (frame_ms >= 2) return 1 - frame_ms / 4;
  if (frame_ms <= 0.4 || round_ms > longest_round_ms) return 1 - longest_round_ms / 4;
  return 1 - round_ms / 4;
}

TEST(ShapesTest, AReceiverThatOverrunsItsServerRisesThenFalls) {
  Question question;
  question.line = 0;
  question.sampling_period_ns = 250 * kNsPerUs;
  question.duration_ns = 240 * kNsPerSecond;
  KnownCosts known;
  for (const int percent : {10, 30, 50, 65, 80, 90}) {
    question.speedup = percent / 100.0;
    const Answer answer = Ask(Overload(), MachineOptions(), question, &known);
    EXPECT_NEAR(answer.real, ProgramSpeedup(4 * (1 - question.speedup)), 0.01) << percent << " %";
    EXPECT_NEAR(answer.predicted, answer.real, 0.01) << percent << " %";
  }
}

TEST(ShapesTest, NothingElseOfItHasAnEffect) {
  Question question;
  question.sampling_period_ns = 250 * kNsPerUs;
  question.speedup = 0.5;
  KnownCosts known;
  for (const experiment::UnitId line : {1u, 2u}) {
    question.line = line;
    const Answer answer = Ask(Overload(), MachineOptions(), question, &known);
    EXPECT_NEAR(answer.real, 0, 0.01) << line;
    EXPECT_NEAR(answer.predicted, 0, 0.01) << line;
  }
}

}  // namespace
}  // namespace coz::sim
