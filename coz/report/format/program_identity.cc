#include "coz/report/format/program_identity.h"

#include <algorithm>
#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"

namespace coz::report {

bool IsImported(const profile::Session& session) {
  return session.coz_version() == kOriginalCozVersion;
}

bool ProgramIdentity::Matches(const ProgramIdentity& other) const {
  if (!build_id.empty() && !other.build_id.empty()) return build_id == other.build_id;
  return path == other.path;
}

std::string ProgramIdentity::Text() const {
  if (build_id.empty()) return path;
  return absl::StrFormat("%s, build-id %s", path, absl::BytesToHexString(build_id));
}

ProgramIdentity IdentityOf(const profile::Binary& binary) {
  return {binary.build_id(), binary.path()};
}

std::vector<ProgramIdentity> ProgramsOf(const profile::Profile& profile) {
  absl::flat_hash_set<uint64_t> identified;
  std::vector<ProgramIdentity> programs;
  for (const profile::Binary& binary : profile.binary()) {
    if (!identified.insert(binary.session()).second) continue;
    ProgramIdentity program = IdentityOf(binary);
    const bool is_known =
        std::any_of(programs.begin(), programs.end(),
                    [&program](const ProgramIdentity& one) { return one.Matches(program); });
    if (!is_known) programs.push_back(std::move(program));
  }
  return programs;
}

}  // namespace coz::report
