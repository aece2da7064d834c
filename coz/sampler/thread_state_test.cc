#include "coz/sampler/thread_state.h"

#include "gtest/gtest.h"

namespace coz::sampler {
namespace {

using Change = ThreadState::Change;

TEST(ThreadStateTest, ANewThreadIsSampledByTheInheritedEvent) {
  ThreadState state;
  EXPECT_TRUE(state.is_long());
  EXPECT_TRUE(state.IsSampledBy(/*own_event=*/false));
  EXPECT_FALSE(state.IsSampledBy(/*own_event=*/true)) << "that one takes extra samples";
  EXPECT_EQ(state.NoteSignal(/*own_event=*/false), Change::kNone);
}

TEST(ThreadStateTest, AThreadWithAnEventOfItsOwnIsSampledByThatUntilItProvesLong) {
  ThreadState state;
  state.BeginShort(SampledBy::kOwn);
  EXPECT_TRUE(state.is_in_a_group());
  EXPECT_TRUE(state.IsSampledBy(/*own_event=*/true));
  EXPECT_FALSE(state.IsSampledBy(/*own_event=*/false));
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(state.NoteSignal(/*own_event=*/false), Change::kNone) << "the other event";
  }
  EXPECT_EQ(state.NoteSignal(/*own_event=*/true), Change::kFirstOwnSample);
  for (uint32_t i = 2; i < ThreadState::kSamplesOfLongThread; ++i) {
    EXPECT_EQ(state.NoteSignal(/*own_event=*/true), Change::kNone) << i;
  }
  EXPECT_EQ(state.NoteSignal(/*own_event=*/true), Change::kProvedLong);
  EXPECT_TRUE(state.is_long());
}

TEST(ThreadStateTest, AThreadThatOthersStandForHasNoSamplesUntilItProvesLong) {
  ThreadState state;
  state.BeginShort(SampledBy::kOthers);
  EXPECT_TRUE(state.is_in_a_group());
  for (uint32_t i = 1; i < ThreadState::kSamplesOfLongThread; ++i) {
    EXPECT_FALSE(state.IsSampledBy(/*own_event=*/false));
    EXPECT_EQ(state.NoteSignal(/*own_event=*/false), Change::kNone) << i;
  }
  EXPECT_EQ(state.NoteSignal(/*own_event=*/false), Change::kProvedLong);
  EXPECT_TRUE(state.IsSampledBy(/*own_event=*/false));
}

TEST(ThreadStateTest, AThreadThatWeighsRestsIsSampledByTheInheritedEvent) {
  ThreadState state;
  state.BeginShort(SampledBy::kInheritedRests);
  EXPECT_FALSE(state.is_long());
  EXPECT_FALSE(state.is_in_a_group());
  for (uint32_t i = 1; i < ThreadState::kSamplesOfLongThread; ++i) {
    EXPECT_TRUE(state.IsSampledBy(/*own_event=*/false));
    EXPECT_EQ(state.NoteSignal(/*own_event=*/false), Change::kNone) << i;
  }
  EXPECT_EQ(state.NoteSignal(/*own_event=*/false), Change::kProvedLong);
  EXPECT_TRUE(state.is_long());
}

TEST(ThreadStateTest, AnyThreadCanBecomeLongAtOnce) {
  for (const SampledBy by : {SampledBy::kOwn, SampledBy::kOthers, SampledBy::kInheritedRests}) {
    ThreadState state;
    state.BeginShort(by);
    state.BecomeLong();
    EXPECT_TRUE(state.is_long());
    EXPECT_EQ(state.NoteSignal(/*own_event=*/true), Change::kNone);
  }
}

}  // namespace
}  // namespace coz::sampler
