#include "coz/report/format/profile_writer.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/status/status.h"
#include "coz/report/format/profile.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using ::testing::HasSubstr;

std::string TempPath(const std::string& name) { return ::testing::TempDir() + "/" + name; }

std::string Contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

profile::Profile Chunk(uint64_t session, uint32_t index) {
  profile::Profile chunk;
  profile::Experiment* experiment = chunk.add_experiment();
  experiment->set_session(session);
  experiment->set_index(index);
  return chunk;
}

TEST(ProfileWriterTest, ChunksMergeInOrder) {
  const std::string path = TempPath("merge.pb");
  {
    auto writer = ProfileWriter::Open(path, ProfileOpenMode::kTruncate);
    ASSERT_TRUE(writer.ok()) << writer.status();
    ASSERT_TRUE(writer->Append(Chunk(7, 0)).ok());
    ASSERT_TRUE(writer->Append(Chunk(7, 1)).ok());
    EXPECT_EQ(writer->bytes_written(), Contents(path).size());
  }
  auto writer = ProfileWriter::Open(path);
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_TRUE(writer->Append(Chunk(8, 0)).ok());
  profile::Profile all;
  ASSERT_TRUE(all.ParseFromString(Contents(path)));
  ASSERT_EQ(all.experiment_size(), 3);
  EXPECT_EQ(all.experiment(1).index(), 1u);
  EXPECT_EQ(all.experiment(2).session(), 8u);
}

TEST(ProfileWriterTest, TornEndIsCutOffBeforeAppending) {
  const std::string path = TempPath("torn.pb");
  const std::string whole = Chunk(7, 1).SerializeAsString();
  for (size_t torn = 1; torn < whole.size(); ++torn) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << whole << whole.substr(0, torn);
    auto writer = ProfileWriter::Open(path);
    ASSERT_TRUE(writer.ok()) << writer.status();
    ASSERT_TRUE(writer->Append(Chunk(8, 2)).ok());
    EXPECT_EQ(Contents(path), whole + Chunk(8, 2).SerializeAsString());
  }
}

TEST(ProfileWriterTest, SecondWriterIsRefusedWhileTheFirstIsOpen) {
  const std::string path = TempPath("locked.pb");
  {
    auto first = ProfileWriter::Open(path, ProfileOpenMode::kTruncate);
    ASSERT_TRUE(first.ok()) << first.status();
    ASSERT_TRUE(first->Append(Chunk(1, 1)).ok());
    const std::string before = Contents(path);
    const auto second = ProfileWriter::Open(path, ProfileOpenMode::kTruncate);
    EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(second.status().message()), HasSubstr("another coz"));
    EXPECT_EQ(Contents(path), before);
  }
  EXPECT_TRUE(ProfileWriter::Open(path).ok());
}

TEST(ProfileWriterTest, NewFileIsReadableByOthersAsUmaskAllows) {
  const std::string path = TempPath("mode.pb");
  unlink(path.c_str());
  const mode_t old = umask(0);
  ASSERT_TRUE(ProfileWriter::Open(path).ok());
  umask(old);
  struct stat info;
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0644u);
}

TEST(ProfileWriterTest, DeletedFolderSaysGoElsewhere) {
  const std::string folder = TempPath("deleted");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::create_directory(folder);
  std::filesystem::current_path(folder);
  std::filesystem::remove(folder);
  const auto writer = ProfileWriter::Open("profile.pb");
  std::filesystem::current_path(before);
  EXPECT_THAT(std::string(writer.status().message()), HasSubstr("folder has been deleted"));
}

TEST(ProfileWriterTest, MissingFolderSaysMkdir) {
  const auto writer = ProfileWriter::Open(TempPath("no/such/folder/profile.pb"));
  EXPECT_EQ(writer.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(writer.status().message()), HasSubstr("mkdir -p"));
}

TEST(ProfileWriterTest, FolderAsFileSaysNameAFileInIt) {
  const auto writer = ProfileWriter::Open(::testing::TempDir());
  EXPECT_EQ(writer.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(writer.status().message()), HasSubstr("profile.pb --- "));
}

TEST(ProfileWriterTest, ForeignFileIsLeftAlone) {
  const std::string path = TempPath("precious.txt");
  std::ofstream(path) << "precious";
  const auto writer = ProfileWriter::Open(path);
  EXPECT_EQ(writer.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Contents(path), "precious");
}

TEST(ProfileWriterTest, FullDeviceSaysWriteElsewhere) {
  auto writer = ProfileWriter::Open("/dev/full");
  ASSERT_TRUE(writer.ok()) << writer.status();
  const absl::Status status = writer->Append(Chunk(1, 1));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("coz run -o FILE"));
}

TEST(ProfileWriterTest, PartialWriteIsTakenBack) {
  const std::string path = TempPath("limited.pb");
  auto writer = ProfileWriter::Open(path, ProfileOpenMode::kTruncate);
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_TRUE(writer->Append(Chunk(1, 1)).ok());
  const std::string whole = Contents(path);
  const pid_t child = fork();
  if (child == 0) {
    // The limit cuts the next chunk in the middle.
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {whole.size() + 5, whole.size() + 5};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(2);
    _exit(writer->Append(Chunk(1, 2)).code() == absl::StatusCode::kResourceExhausted ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Contents(path), whole);
}

TEST(ProfileWriterTest, WhatCouldNotBeWrittenComesLater) {
  const std::string path = TempPath("kept.pb");
  auto writer = ProfileWriter::Open(path, ProfileOpenMode::kTruncate);
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_TRUE(writer->Append(Chunk(1, 1)).ok());
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit full = {Contents(path).size(), RLIM_INFINITY};
    const rlimit free = {RLIM_INFINITY, RLIM_INFINITY};
    if (setrlimit(RLIMIT_FSIZE, &full) != 0) _exit(2);
    if (writer->Append(Chunk(1, 2)).ok() || writer->Append(Chunk(1, 3)).ok()) _exit(3);
    if (setrlimit(RLIMIT_FSIZE, &free) != 0) _exit(4);
    if (!writer->Append(Chunk(1, 4)).ok() || !writer->WriteKept().ok()) _exit(5);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  std::string all;
  for (int i = 1; i <= 4; ++i) all += Chunk(1, static_cast<uint32_t>(i)).SerializeAsString();
  EXPECT_EQ(Contents(path), all);
}

TEST(ProfileWriterTest, SessionIdsDiffer) {
  const uint64_t id = NewSessionId();
  EXPECT_NE(id, 0u);
  EXPECT_NE(id, NewSessionId());
}

}  // namespace
}  // namespace coz::report
