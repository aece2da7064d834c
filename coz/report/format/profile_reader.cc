#include "coz/report/format/profile_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "coz/base/unique_fd.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/format/profile_io_error.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl.h"
#include "google/protobuf/stubs/logging.h"

namespace coz::report {
namespace {

using google::protobuf::io::ArrayInputStream;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::FileInputStream;
using google::protobuf::io::ZeroCopyInputStream;

constexpr uint32_t kLengthDelimited = 2;
constexpr int kHeadBytes = 64;
constexpr char kStandardInput[] = "standard input";

enum class Frame { kRecord, kEnd, kCut, kBroken };

// A varint of at most 32 bits in at most five bytes. `raw` gets the bytes as read.
Frame ReadVarint(CodedInputStream* in, uint32_t* value, std::string* raw) {
  uint64_t result = 0;
  for (int i = 0; i < 5; ++i) {
    char byte;
    if (!in->ReadRaw(&byte, 1)) return i == 0 ? Frame::kEnd : Frame::kCut;
    raw->push_back(byte);
    const auto bits = static_cast<uint8_t>(byte);
    result |= static_cast<uint64_t>(bits & 0x7f) << (7 * i);
    if ((bits & 0x80) != 0) continue;
    if (result > UINT32_MAX) return Frame::kBroken;
    *value = static_cast<uint32_t>(result);
    return Frame::kRecord;
  }
  return Frame::kBroken;
}

// Appends the tag, length and payload of the next record to the empty `record`. The payload is read
// in steps, so that a false length costs no memory.
Frame ReadFrame(ZeroCopyInputStream* input, uint32_t* field, std::string* record) {
  // A CodedInputStream stops after 2 GiB, so each record gets its own.
  CodedInputStream in(input);
  uint32_t tag = 0;
  uint32_t length = 0;
  Frame frame = ReadVarint(&in, &tag, record);
  if (frame != Frame::kRecord) return frame;
  if (tag % 8 != kLengthDelimited || tag / 8 == 0) return Frame::kBroken;
  *field = tag / 8;
  frame = ReadVarint(&in, &length, record);
  if (frame != Frame::kRecord) return frame == Frame::kEnd ? Frame::kCut : frame;
  if (length > kMaxRecordBytes) return Frame::kBroken;
  constexpr uint32_t kStep = 64 * 1024;
  while (length > 0) {
    const uint32_t n = std::min(length, kStep);
    const size_t before = record->size();
    record->resize(before + n);
    if (!in.ReadRaw(&(*record)[before], static_cast<int>(n))) return Frame::kCut;
    length -= n;
  }
  return Frame::kRecord;
}

uint64_t SkipToEnd(ZeroCopyInputStream* input) {
  uint64_t skipped = 0;
  const void* data = nullptr;
  int size = 0;
  while (input->Next(&data, &size)) skipped += static_cast<uint64_t>(size);
  return skipped;
}

bool HasSession(const profile::Profile& p) {
  for (const auto& r : p.session()) return r.id() != 0;
  for (const auto& r : p.unit()) return r.session() != 0;
  for (const auto& r : p.progress_point()) return r.session() != 0;
  for (const auto* experiments : {&p.experiment(), &p.control()}) {
    for (const auto& r : *experiments) {
      return r.session() != 0 && r.unit_id_size() == r.unit_samples_size();
    }
  }
  for (const auto& r : p.sample_counts()) {
    return r.session() != 0 && r.unit_id_size() == r.unit_samples_size() &&
           r.spinning_unit_id_size() == r.spinning_unit_samples_size();
  }
  for (const auto& r : p.session_end()) return r.session() != 0;
  for (const auto& r : p.binary()) return r.session() != 0;
  for (const auto& r : p.process()) return r.session() != 0;
  for (const auto& r : p.source_change()) return r.session() != 0;
  for (const auto& r : p.bare_interval()) return r.session() != 0;
  for (const auto& r : p.point_change()) return r.session() != 0;
  for (const auto& r : p.thread_counter()) return r.session() != 0;
  for (const auto& r : p.thread()) {
    return r.session() != 0 && r.counter_size() == r.visits_size() &&
           r.timed_counter_size() == r.timed_calls_size() &&
           r.timed_counter_size() == r.timed_wall_ns_size() &&
           r.timed_counter_size() == r.timed_cpu_ns_size();
  }
  return false;
}

void HandOn(const std::string& record, uint32_t field, ReadStats* stats,
            absl::FunctionRef<void(const profile::Profile&)> sink) {
  if (field > profile::Profile::kControlFieldNumber) {
    ++stats->unknown_records;
    return;
  }
  profile::Profile one;
  if (!one.ParseFromString(record) || !HasSession(one)) {
    ++stats->damaged_records;
    return;
  }
  ++stats->records;
  sink(one);
}

constexpr absl::string_view kJsonOfOriginal = "{\"type\":";

// The word that begins a text profile of the original coz; empty of any other file.
absl::string_view WordOfOriginal(absl::string_view head) {
  for (absl::string_view word : {"startup\t", "experiment\t", "throughput-point\t",
                                 "progress-point\t", "latency-point\t", "runtime\t", "samples\t"}) {
    if (absl::StartsWith(head, word)) return word.substr(0, word.size() - 1);
  }
  return "";
}

std::string Seen(absl::string_view head) {
  if (head.empty()) return "it is empty";
  if (absl::StartsWith(head, kJsonOfOriginal)) return "it starts like JSON of the original coz";
  if (head[0] == '{') return "it starts with '{', like JSON";
  if (const absl::string_view word = WordOfOriginal(head); !word.empty()) {
    return absl::StrCat("it starts with \"", word,
                        "\" and a tab, like the text profile of the original coz (.coz)");
  }
  if (absl::StartsWith(head,
                       "\x7f"
                       "ELF"))
    return "it is an ELF file, a program or library";
  if (absl::StartsWith(head, "\x1f\x8b")) return "it is compressed by gzip, like a pprof profile";
  if (absl::StartsWith(head, "PERFILE2")) return "it is a recording of `perf record`";
  if (std::all_of(head.begin(), head.end(),
                  [](char c) { return c == '\n' || c == '\t' || (c >= ' ' && c <= '~'); })) {
    return absl::StrCat("it is text and starts with \"",
                        head.substr(0, std::min(head.find('\n'), size_t{20})), "\"");
  }
  std::string bytes;
  for (char c : head.substr(0, 4)) absl::StrAppendFormat(&bytes, " %02x", static_cast<uint8_t>(c));
  return absl::StrCat("it starts with the bytes", bytes, ", which begin no record");
}

std::string NextFor(const std::string& name, absl::string_view head) {
  if (!absl::StartsWith(head, kJsonOfOriginal) && WordOfOriginal(head).empty()) {
    return "make a profile with `coz run -o FILE --- PROGRAM ARGS` and name that file";
  }
  if (name == kStandardInput) return "make a profile of it with `coz import - -o FILE`";
  return absl::StrCat("make a profile of it with `coz import ", name, " -o ",
                      absl::StripSuffix(name, ".coz"), ".pb`");
}

absl::Status NotAProfile(const std::string& name, absl::string_view head, const ReadStats& stats) {
  // A profile cut short ends within its first record, and begins like one.
  const bool cut = stats.truncated_bytes > 0 && stats.damaged_records == 0 && head[0] == '\n';
  const std::string seen =
      cut ? absl::StrCat("it holds ", stats.bytes,
                         " bytes and no whole record, so it was cut at its start")
          : Seen(head);
  return absl::InvalidArgumentError(
      absl::StrCat("cannot read ", name, " as a coz profile: ", seen, "; ", NextFor(name, head)));
}

absl::Status ReadAll(ZeroCopyInputStream* input, const std::string& name, absl::string_view head,
                     ReadStats* stats, absl::FunctionRef<void(const profile::Profile&)> sink) {
  const absl::Status status = ReadRecords(input, stats, sink);
  return status.ok() ? status : NotAProfile(name, head, *stats);
}

// What `read(stats, sink)` hands on.
template <typename Read>
absl::StatusOr<ReadResult> Collected(Read read) {
  ReadResult result;
  const absl::Status status = read(
      &result.stats, [&](const profile::Profile& record) { result.profile.MergeFrom(record); });
  if (!status.ok()) return status;
  return result;
}

}  // namespace

std::vector<std::string> ReadStats::Notes() const {
  std::vector<std::string> notes;
  if (truncated_bytes > 0) {
    notes.push_back(absl::StrCat("the file ends within a record: its last ", truncated_bytes,
                                 " bytes were not used, what came before is whole"));
  }
  if (damaged_records > 0) {
    notes.push_back(absl::StrCat(damaged_records, " damaged records were skipped"));
  }
  if (unreadable_bytes > 0) {
    notes.push_back(absl::StrCat("the file is damaged: its last ", unreadable_bytes, " of ", bytes,
                                 " bytes could not be read"));
  }
  if (unknown_records > 0) {
    notes.push_back(absl::StrCat(unknown_records,
                                 " records are of a kind that this version of coz does not know"));
  }
  return notes;
}

absl::Status ReadRecords(ZeroCopyInputStream* input, ReadStats* stats,
                         absl::FunctionRef<void(const profile::Profile&)> sink) {
  // Damaged records are counted; a line on standard error for each of their fields helps nobody.
  google::protobuf::LogSilencer silencer;
  Frame frame = Frame::kRecord;
  while (frame == Frame::kRecord) {
    std::string record;
    uint32_t field = 0;
    const uint64_t start = static_cast<uint64_t>(input->ByteCount());
    frame = ReadFrame(input, &field, &record);
    if (frame == Frame::kRecord) {
      HandOn(record, field, stats, sink);
    } else if (frame == Frame::kCut) {
      SkipToEnd(input);
      stats->truncated_bytes = static_cast<uint64_t>(input->ByteCount()) - start;
    } else if (frame == Frame::kBroken) {
      // Of what is no profile, the rest may be long and says nothing.
      if (stats->records != 0) SkipToEnd(input);
      stats->unreadable_bytes = static_cast<uint64_t>(input->ByteCount()) - start;
    }
  }
  stats->bytes = static_cast<uint64_t>(input->ByteCount());
  if (stats->records == 0) return absl::InvalidArgumentError("no whole record was found");
  return absl::OkStatus();
}

absl::StatusOr<ReadResult> ParseProfile(const std::string& bytes, const std::string& name) {
  return Collected([&](ReadStats* stats, absl::FunctionRef<void(const profile::Profile&)> sink) {
    ArrayInputStream input(bytes.data(), static_cast<int>(bytes.size()));
    return ReadAll(&input, name, absl::string_view(bytes).substr(0, kHeadBytes), stats, sink);
  });
}

absl::StatusOr<ReadResult> ReadProfile(const std::string& path) {
  return Collected([&](ReadStats* stats, absl::FunctionRef<void(const profile::Profile&)> sink) {
    return ReadRecordsOf(path, stats, sink);
  });
}

absl::Status ReadRecordsOf(const std::string& path, ReadStats* stats,
                           absl::FunctionRef<void(const profile::Profile&)> sink) {
  UniqueFd file;
  int fd = STDIN_FILENO;
  if (path != "-") {
    file.Reset(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.ok()) return ProfileReadError("open", path, errno);
    fd = file.get();
  }
  struct stat info;
  if (fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) return ProfileReadError("read", path, EISDIR);
  FileInputStream input(fd);
  // Looks at the head in the stream's own buffer, since a pipe cannot be read twice.
  const void* data = nullptr;
  int size = 0;
  std::string head;
  if (input.Next(&data, &size)) {
    head.assign(static_cast<const char*>(data), static_cast<size_t>(std::min(size, kHeadBytes)));
    input.BackUp(size);
  }
  if (input.GetErrno() != 0) return ProfileReadError("read", path, input.GetErrno());
  const std::string name = path == "-" ? kStandardInput : path;
  absl::Status status = ReadAll(&input, name, head, stats, sink);
  if (input.GetErrno() != 0) return ProfileReadError("read", path, input.GetErrno());
  return status;
}

}  // namespace coz::report
