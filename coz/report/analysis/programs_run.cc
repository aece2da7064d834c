#include "coz/report/analysis/programs_run.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "coz/report/analysis/session_facts.h"

namespace coz::report {
namespace {

using ProcessesByPid = std::map<int32_t, std::vector<const profile::Process*>>;

std::string FileName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

ProcessesByPid ProcessesOf(const profile::Profile& profile, uint64_t session) {
  ProcessesByPid processes;
  for (const profile::Process& process : profile.process()) {
    if (process.session() == session) processes[process.pid()].push_back(&process);
  }
  return processes;
}

// What the thread's process ran when the thread began: an exec begins another record.
std::string ProgramOf(const profile::Thread& thread, const ProcessesByPid& processes) {
  const auto found = processes.find(thread.pid());
  if (found == processes.end()) return "";
  const profile::Process* program = found->second.front();
  for (const profile::Process* process : found->second) {
    if (process->start_ns() <= thread.start_ns()) program = process;
  }
  return program->program();
}

// Of the session: whether a progress point was seen, or a sample fell on a line in scope.
bool HasPointOrSample(const profile::Profile& profile, uint64_t session) {
  const auto& points = profile.progress_point();
  const auto& counts = profile.sample_counts();
  return std::any_of(points.begin(), points.end(),
                     [session](const auto& point) { return point.session() == session; }) ||
         std::any_of(counts.begin(), counts.end(), [session](const auto& one) {
           return one.session() == session && one.unit_id_size() != 0;
         });
}

}  // namespace

ProgramsRun FindProgramsRun(const profile::Profile& profile) {
  ProgramsRun run;
  if (profile.session_size() == 0) return run;
  const profile::Session& session = *profile.session().rbegin();
  if (session.command_size() != 0) run.started = FileName(session.command(0));
  const ProcessesByPid processes = ProcessesOf(profile, session.id());
  std::string first;
  for (const profile::Process& process : profile.process()) {
    if (process.session() != session.id() || process.program().empty()) continue;
    if (first.empty()) first = process.program();
    run.others_ran |= process.program() != first;
  }
  std::map<std::string, uint64_t> cpu_ns;
  for (const profile::Thread& thread : profile.thread()) {
    if (thread.session() != session.id()) continue;
    const std::string program = ProgramOf(thread, processes);
    if (!program.empty()) cpu_ns[program] += thread.cpu_ns();
  }
  uint64_t most_ns = cpu_ns[first];
  for (const auto& [program, ns] : cpu_ns) {
    if (ns <= most_ns) continue;
    most_ns = ns;
    run.worker = FileName(program);
  }
  return run;
}

bool IsLauncher(const profile::Session& session) {
  return session.options().follow() == "all" || session.options().follow() == "exec";
}

bool FailedEarly(const profile::Profile& profile) {
  if (profile.session_size() == 0) return false;
  const profile::Session& session = *profile.session().rbegin();
  const profile::SessionEnd* const end = SessionEnds(profile).Of(session);
  if (end == nullptr || end->reason() != profile::END_REASON_TARGET_EXITED) return false;
  if (end->experiments() != 0 || (end->exit_status() == 0 && end->exit_signal() == 0)) return false;
  if (end->run_time_ns() < session.options().min_experiment_ns()) return true;
  return IsLauncher(session) && FindProgramsRun(profile).worker.empty() &&
         !HasPointOrSample(profile, session.id());
}

}  // namespace coz::report
