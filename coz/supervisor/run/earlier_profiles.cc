#include "coz/supervisor/run/earlier_profiles.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/base/command_name.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/format/profile_reader.h"

namespace coz::supervisor {
namespace {

using std::filesystem::exists;
using std::filesystem::rename;

std::string Numbered(const std::string& file, int number) {
  return number == 0 ? file : absl::StrCat(file, ".", number);
}

// What cannot be read, or not all of it, may be anything, and is kept.
bool IsWithoutExperiments(const std::string& file) {
  bool has_experiments = false;
  report::ReadStats stats;
  const absl::Status status = report::ReadRecordsOf(
      file, &stats,
      [&](const profile::Profile& record) { has_experiments |= record.experiment_size() > 0; });
  const bool is_whole = stats.unreadable_bytes == 0 && stats.damaged_records == 0 &&
                        stats.truncated_bytes == 0 && stats.unknown_records == 0;
  return status.ok() && is_whole && !has_experiments;
}

}  // namespace

absl::StatusOr<EarlierProfiles> KeepEarlier(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error) ||
      std::filesystem::file_size(file, error) == 0 || IsWithoutExperiments(file)) {
    return EarlierProfiles{"", 0, !exists(file, error)};
  }
  int free = 1;
  while (free <= kEarlierProfiles && exists(Numbered(file, free), error)) ++free;
  for (int number = free; number > 0; --number) {
    rename(Numbered(file, number - 1), Numbered(file, number), error);
    if (error) {
      return absl::UnavailableError(
          absl::StrFormat("cannot keep %s as %s: %s; write to another file with `%s`", file,
                          Numbered(file, 1), error.message(), ProfilingCommand("-o FILE")));
    }
  }
  return EarlierProfiles{Numbered(file, 1), free};
}

void SettleEarlier(const std::string& file) {
  std::error_code error;
  std::filesystem::remove(Numbered(file, kEarlierProfiles + 1), error);
}

void GiveBackEarlier(const std::string& file, const EarlierProfiles& earlier) {
  std::error_code error;
  if (earlier.is_new && std::filesystem::is_regular_file(file, error) &&
      std::filesystem::file_size(file, error) == 0) {
    std::filesystem::remove(file, error);
  }
  for (int number = 0; number < earlier.moved; ++number) {
    rename(Numbered(file, number + 1), Numbered(file, number), error);
    if (error) return;
  }
}

}  // namespace coz::supervisor
