#include "coz/report/format/profile_reader.h"

#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <random>
#include <string>

#include "absl/status/status.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/format/profile_io_error.h"
#include "coz/report/testing/synthetic_profile.h"
#include "gmock/gmock.h"
#include "google/protobuf/io/zero_copy_stream_impl.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// As the supervisor writes it: one chunk for the session, one for each experiment with what it
// names, one for the end.
std::string SmallProfile(uint64_t session) {
  report_testing::SyntheticOptions options;
  options.session = session;
  report_testing::SyntheticProfile made(options, {{}, {"/src/app/a.cc", 7, "A()", 0.3, 0.5, {}}});
  made.AddRandomExperiments(8);
  made.End();
  const profile::Profile& all = made.profile();
  profile::Profile head = all;
  head.clear_experiment();
  head.clear_session_end();
  std::string bytes = head.SerializeAsString();
  for (const auto& experiment : all.experiment()) {
    profile::Profile chunk;
    *chunk.add_experiment() = experiment;
    bytes += chunk.SerializeAsString();
  }
  profile::Profile tail;
  *tail.mutable_session_end() = all.session_end();
  return bytes + tail.SerializeAsString();
}

std::string MessageFor(const std::string& bytes) {
  const auto result = ParseProfile(bytes, "p.pb");
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(result.status().message());
}

TEST(ProfileReaderTest, WholeProfileReadsBack) {
  const std::string bytes = SmallProfile(1);
  profile::Profile expected;
  ASSERT_TRUE(expected.ParseFromString(bytes));
  const auto result = ParseProfile(bytes, "p.pb");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(MessageDifferencer::Equals(result->profile, expected));
  EXPECT_EQ(result->stats.bytes, bytes.size());
  EXPECT_EQ(result->stats.truncated_bytes, 0u);
  EXPECT_EQ(result->stats.records, 1u + 2 + 1 + 8 + 1);
  EXPECT_THAT(result->stats.Notes(), SizeIs(0));
}

TEST(ProfileReaderTest, CutAnywhereReadsToLastWholeRecord) {
  const std::string bytes = SmallProfile(1);
  const auto whole = ParseProfile(bytes, "p.pb");
  ASSERT_TRUE(whole.ok());
  int last = 0;
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto cut = ParseProfile(bytes.substr(0, size), "p.pb");
    if (!cut.ok()) {
      ASSERT_EQ(last, 0) << size;
      ASSERT_EQ(cut.status().code(), absl::StatusCode::kInvalidArgument);
      continue;
    }
    const int n = cut->profile.experiment_size();
    ASSERT_GE(n, last) << size;
    last = n;
    for (int i = 0; i < n; ++i) {
      ASSERT_EQ(cut->profile.experiment(i).SerializeAsString(),
                whole->profile.experiment(i).SerializeAsString());
    }
    // Every byte is accounted for: the whole records and the cut one.
    ASSERT_EQ(cut->profile.ByteSizeLong() + cut->stats.truncated_bytes, size);
    ASSERT_EQ(cut->stats.damaged_records + cut->stats.unreadable_bytes, 0u);
  }
  EXPECT_EQ(last, 8);
}

TEST(ProfileReaderTest, FlippedBytesNeverCrash) {
  const std::string bytes = SmallProfile(1);
  std::mt19937_64 random(7);
  for (int round = 0; round < 5000; ++round) {
    std::string damaged = bytes;
    for (int flips = 0; flips <= round % 8; ++flips) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    const auto result = ParseProfile(damaged, "p.pb");
    if (result.ok()) {
      EXPECT_LE(result->stats.truncated_bytes + result->stats.unreadable_bytes, damaged.size());
    }
  }
}

TEST(ProfileReaderTest, ConcatenationIsAMerge) {
  const std::string a = SmallProfile(1);
  const std::string b = SmallProfile(2);
  const auto result = ParseProfile(a + b, "p.pb");
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->profile.session_size(), 2);
  EXPECT_EQ(result->profile.experiment_size(), 16);
  EXPECT_EQ(result->profile.experiment(8).session(), 2u);
}

TEST(ProfileReaderTest, DamagedRecordIsSkippedAndCounted) {
  profile::Profile chunk;
  chunk.add_experiment()->set_index(3);  // names no session
  const auto result =
      ParseProfile(SmallProfile(1) + chunk.SerializeAsString() + SmallProfile(2), "p");
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->stats.damaged_records, 1u);
  EXPECT_EQ(result->profile.experiment_size(), 16);
}

TEST(ProfileReaderTest, GarbageInTheMiddleEndsTheReadingAndIsCounted) {
  const std::string a = SmallProfile(1);
  const auto result = ParseProfile(a + std::string(10, '\xff') + a, "p.pb");
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->profile.experiment_size(), 8);
  EXPECT_EQ(result->stats.unreadable_bytes, 10 + a.size());
  EXPECT_THAT(result->stats.Notes(), SizeIs(1));
}

TEST(ProfileReaderTest, RecordsOfLaterVersionsAreSkippedAndCounted) {
  const std::string later("\x7a\x03xyz", 5);  // field 15
  const auto result = ParseProfile(SmallProfile(1) + later + SmallProfile(2), "p.pb");
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->stats.unknown_records, 1u);
  EXPECT_EQ(result->profile.experiment_size(), 16);
}

TEST(ProfileReaderTest, LyingLengthIsRefusedBeforeAllocation) {
  const std::string huge("\x0a\xff\xff\xff\xff\x0f", 6);
  const auto result = ParseProfile(SmallProfile(1) + huge, "p.pb");
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->stats.unreadable_bytes, huge.size());
}

TEST(ProfileReaderTest, SaysWhatANonProfileLooksLike) {
  EXPECT_THAT(MessageFor(""), HasSubstr("empty"));
  EXPECT_THAT(MessageFor("{\"type\":\"startup\"}\n"), HasSubstr("JSON"));
  EXPECT_THAT(MessageFor("{\"type\":\"startup\"}\n"), HasSubstr("`coz import p.pb -o "));
  EXPECT_THAT(MessageFor("startup\ttime=1415880321185373496\n"), HasSubstr("original coz"));
  EXPECT_THAT(std::string(ParseProfile("startup\ttime=1\n", "a/p.coz").status().message()),
              HasSubstr("; make a profile of it with `coz import a/p.coz -o a/p.pb`"));
  EXPECT_THAT(MessageFor("\x7f"
                         "ELF\x02\x01\x01"),
              HasSubstr("ELF"));
  EXPECT_THAT(MessageFor("\x1f\x8b\x08"), HasSubstr("gzip"));
  EXPECT_THAT(MessageFor("int main() {}\nmore"), HasSubstr("\"int main() {}\""));
  EXPECT_THAT(MessageFor("\nint main() {}\n"), HasSubstr("p.pb"));
  EXPECT_THAT(MessageFor("\xff\xfe\xfd\xfc\xfb"), HasSubstr("ff fe fd fc"));
  EXPECT_THAT(MessageFor(SmallProfile(1).substr(0, 9)), HasSubstr("cut at its start"));
  EXPECT_THAT(MessageFor("{"), HasSubstr("coz run"));
}

TEST(ProfileReaderTest, WhatBeginsWithNoRecordIsNotReadToItsEnd) {
  const std::string path = ::testing::TempDir() + "/sparse.pb";
  // The second begins like a record.
  for (const char* begin : {"", "\nint main() {}"}) {
    std::ofstream(path, std::ios::binary) << begin;
    ASSERT_EQ(truncate(path.c_str(), off_t{1} << 36), 0);
    ReadStats stats;
    EXPECT_FALSE(ReadRecordsOf(path, &stats, [](const profile::Profile&) {}).ok());
    EXPECT_LT(stats.bytes, 1u << 20);
  }
}

TEST(ProfileReaderTest, MissingFileAndFolderSayWhatToDo) {
  const auto missing = ReadProfile(::testing::TempDir() + "/none.pb");
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("coz run"));
  const auto folder = ReadProfile(::testing::TempDir());
  EXPECT_EQ(folder.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(folder.status().message()), HasSubstr("coz report"));
}

TEST(ProfileReaderTest, StandardInputHasNoPermissionsToLookAt) {
  const std::string said(ProfileReadError("read", "-", EBADF).message());
  EXPECT_NE(said.find("`coz report - < profile.pb`"), std::string::npos) << said;
  EXPECT_EQ(said.find("ls -l"), std::string::npos) << said;
}

TEST(ProfileReaderTest, FileReadsLikeMemory) {
  const std::string bytes = SmallProfile(1);
  const std::string path = ::testing::TempDir() + "/whole.pb";
  std::ofstream(path, std::ios::binary) << bytes;
  const auto from_file = ReadProfile(path);
  const auto from_memory = ParseProfile(bytes, path);
  ASSERT_TRUE(from_file.ok()) << from_file.status();
  EXPECT_TRUE(MessageDifferencer::Equals(from_file->profile, from_memory->profile));
  EXPECT_EQ(from_file->stats.bytes, bytes.size());
}

// Fields and values that are reserved now.
TEST(ProfileReaderTest, ReadsWhatOlderVersionsWrote) {
  profile::Profile written;
  written.add_session()->set_id(1);
  constexpr int kTargetPid = 14;
  profile::Session* session = written.mutable_session(0);
  session->GetReflection()->MutableUnknownFields(session)->AddVarint(kTargetPid, 4711);
  profile::SessionEnd* end = written.add_session_end();
  end->set_session(1);
  end->set_run_time_ns(5);
  end->set_reason(static_cast<profile::EndReason>(4));
  constexpr int kError = 4;
  end->GetReflection()->MutableUnknownFields(end)->AddLengthDelimited(kError, "no memory");
  const absl::StatusOr<ReadResult> read = ParseProfile(written.SerializeAsString(), "test");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->profile.session(0).id(), 1u);
  EXPECT_EQ(read->profile.session_end(0).run_time_ns(), 5u);
  EXPECT_TRUE(read->stats.Notes().empty());
}

TEST(ProfileReaderTest, ReadsEveryKindOfRecord) {
  profile::Profile written;
  written.add_session()->set_id(1);
  written.add_unit()->set_session(1);
  written.add_progress_point()->set_session(1);
  written.add_experiment()->set_session(1);
  written.add_sample_counts()->set_session(1);
  written.add_session_end()->set_session(1);
  written.add_binary()->set_session(1);
  written.add_process()->set_session(1);
  written.add_source_change()->set_session(1);
  written.add_bare_interval()->set_session(1);
  written.add_point_change()->set_session(1);
  written.add_thread_counter()->set_session(1);
  written.add_thread()->set_session(1);
  written.add_control()->set_session(1);
  // A kind that is added to the format has to be added here and to the reader.
  ASSERT_EQ(profile::Profile::descriptor()->field_count(), 14);
  const absl::StatusOr<ReadResult> read = ParseProfile(written.SerializeAsString(), "test");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->profile.SerializeAsString(), written.SerializeAsString());
  EXPECT_EQ(read->stats.unknown_records, 0u);
}

}  // namespace
}  // namespace coz::report
