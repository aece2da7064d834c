#include "coz/report/analysis/session_series.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/format/program_identity.h"

namespace coz::report {
namespace {

std::string CommonPart(const profile::Session& session) {
  profile::Session common;
  *common.mutable_command() = session.command();
  common.set_working_folder(session.working_folder());
  common.mutable_machine()->set_host(session.machine().host());
  common.mutable_machine()->set_cpu_count(session.machine().cpu_count());
  common.mutable_machine()->set_cpu_quota(session.machine().cpu_quota());
  common.set_sampling_source(session.sampling_source());
  *common.mutable_options() = session.options();
  common.mutable_options()->clear_repeat();
  common.mutable_options()->clear_repetition();
  common.mutable_options()->clear_attached_pid();
  return common.SerializeAsString();
}

}  // namespace

void SessionSeries::Add(const profile::Profile& records) {
  for (const profile::Session& session : records.session()) {
    common_[session.id()] = CommonPart(session);
  }
  for (const profile::Binary& binary : records.binary()) {
    const ProgramIdentity program = IdentityOf(binary);
    programs_.try_emplace(binary.session(),
                          program.build_id.empty() ? program.path : program.build_id);
  }
}

uint64_t SessionSeries::Of(uint64_t session, uint32_t part) {
  const auto common = common_.find(session);
  if (common == common_.end()) return 0;
  const std::string name = absl::StrCat(part, " ", programs_[session], common->second);
  return numbers_.try_emplace(name, numbers_.size() + 1).first->second;
}

}  // namespace coz::report
