#include "coz/report/wording/surroundings.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/report/wording/text_layout.h"

namespace coz::report {
namespace {

// Where more than half of the CPUs are idle, there is room for everybody.
constexpr double kRoom = 0.5;
constexpr double kMuchOfOthers = 0.1;
constexpr double kNearlyAllLeft = 0.95;

struct Neighbour {
  std::string name;
  double cpus = 0;  // CPU time by run time
  bool talks_to_target = false;
};

// Busiest first, over all sessions.
std::vector<Neighbour> Neighbours(const profile::Profile& profile) {
  std::map<std::string, Neighbour> by_name;
  double run_time_ns = 0;
  for (const profile::SessionEnd& end : profile.session_end()) {
    run_time_ns += static_cast<double>(end.run_time_ns());
    for (const profile::Neighbour& one : end.neighbour()) {
      Neighbour& sum = by_name[one.name()];
      sum.name = one.name();
      sum.cpus += static_cast<double>(one.cpu_ns());
      sum.talks_to_target |= one.talks_to_target();
    }
  }
  std::vector<Neighbour> neighbours;
  for (auto& [name, neighbour] : by_name) {
    if (run_time_ns > 0) neighbour.cpus /= run_time_ns;
    neighbours.push_back(neighbour);
  }
  std::stable_sort(neighbours.begin(), neighbours.end(),
                   [](const Neighbour& a, const Neighbour& b) { return a.cpus > b.cpus; });
  return neighbours;
}

// "wrk (0.8 CPUs)".
std::string Described(const Neighbour& neighbour) {
  return absl::StrFormat("%s (%.1f CPUs)", Printable(neighbour.name), neighbour.cpus);
}

void AddOthers(const profile::Profile& profile, const BaselineUse& use,
               std::vector<std::string>* notes) {
  if (!OthersCrowd(use)) return;
  const std::vector<Neighbour> neighbours = Neighbours(profile);
  const std::string share = absl::StrFormat("%.0f %%", 100 * use.OthersShare());
  const std::string idle = absl::StrFormat("%.0f %%", 100 * use.IdleShare());
  if (!neighbours.empty() && neighbours.front().talks_to_target) {
    notes->push_back(absl::StrCat(
        "other programs used ", share, " of the time of the program's CPUs, which were idle for ",
        idle, ", the busiest of them ", Described(neighbours.front()),
        ", which talks to the program; if it makes the load, it works on while the program is "
        "paused, so effects may look larger than they are; run it on other CPUs (`taskset -c LIST "
        "…`, and coz on the rest) or on another machine"));
    return;
  }
  // Programs that wait now and then, and short ones, are not among those that effects are set right
  // for.
  constexpr double kMostlySetRight = 0.8;
  const double left = use.LeftShare();
  const bool is_set_right = 1 - left > kMostlySetRight * use.OthersShare();
  const std::string effect =
      left >= kNearlyAllLeft
          ? "they take what a paused thread leaves, so effects may look smaller than they are, or "
            "larger; "
      : is_set_right ? absl::StrFormat(
                           "they left its threads %.0f %% of the CPU time that these could use; "
                           "effects are set right for that; to be surer, ",
                           100 * left)
                     : absl::StrFormat(
                           "those that hardly ever wait took %.0f %%, and effects are set right "
                           "for these alone, so they may look much smaller than they are; ",
                           100 * (1 - left));
  notes->push_back(absl::StrCat(
      "other programs used ", share, " of the time of the program's CPUs, which were idle for ",
      idle,
      neighbours.empty() ? ""
                         : absl::StrCat(", the busiest of them ", Described(neighbours.front())),
      "; ", effect,
      "stop them, or keep them and coz on CPUs of their own with `taskset -c LIST …`"));
}

// "a quota of 0.5 CPUs".
std::string DescribedQuota(const profile::Profile& profile) {
  double quota = 0;
  for (const profile::Session& session : profile.session()) {
    const double one = session.machine().cpu_quota();
    if (one > 0 && (quota == 0 || one < quota)) quota = one;
  }
  return quota > 0 ? absl::StrFormat("a quota of %.4g CPUs", quota) : "a CPU quota";
}

void AddQuota(const profile::Profile& profile, const BaselineUse& use,
              std::vector<std::string>* notes) {
  constexpr double kWorthSaying = 0.02;
  const double throttled = use.ThrottledShare();
  if (throttled >= kWorthSaying) {
    notes->push_back(absl::StrFormat(
        "%s (cpu.max of the cgroup) was used up in %.0f %% of its periods; effects are those below "
        "this quota, where what counts is CPU time%s; profile without it, too, if the program also "
        "runs without (docker: --cpus, systemd: CPUQuota=)",
        DescribedQuota(profile), 100 * throttled,
        throttled < kQuotaUsedUp ? ", and less sure than where it is always or never used up"
                                 : ""));
    return;
  }
  // The same share as coz/experiment/recorder.cc judges by.
  const double wanted = use.quota_throttled_ns + std::max(use.running_ns, use.elapsed_ns);
  if (wanted <= 0 || use.quota_throttled_ns < kWorthSaying * wanted) return;
  notes->push_back(
      absl::StrFormat("%s (cpu.max of a cgroup) stopped threads for %.0f %% of the time for which "
                      "they wanted to run; a faster program is stopped less, so effects look "
                      "smaller or larger than they are; raise the quota (docker: --cpus, systemd: "
                      "CPUQuota=), or give the program no more threads than that allows",
                      DescribedQuota(profile), 100 * use.quota_throttled_ns / wanted));
}

void AddStolen(const BaselineUse& use, std::vector<std::string>* notes) {
  constexpr double kWorthSaying = 0.05;
  if (use.StolenShare() < kWorthSaying) return;
  notes->push_back(absl::StrFormat(
      "the host of this virtual machine kept %.0f %% of the CPU time for itself or others (steal), "
      "so intervals are wide, and where it gives the time back in pauses, effects look larger than "
      "they are; profile where the CPUs are yours alone, or for longer (`coz run --until=5`)",
      100 * use.StolenShare()));
}

// Names the facts of the first session that was in a virtual machine without --awake.
void AddHalts(const profile::Profile& profile, const ExperimentTable& table, const BaselineUse& use,
              std::vector<std::string>* notes) {
  constexpr double kOversleptMuch = 0.05;
  constexpr double kIdleMuch = 0.1;
  double excess = 0;
  double paid = 0;
  for (const ExperimentRow& row : table.experiments) {
    excess += static_cast<double>(row.excess_ns);
    paid += static_cast<double>(row.paid_ns);
  }
  if (use.IdleShare() < kIdleMuch || excess <= kOversleptMuch * paid) return;
  const auto session = std::find_if(
      profile.session().begin(), profile.session().end(), [](const profile::Session& one) {
        return one.machine().virtual_machine() && !one.options().awake();
      });
  if (session == profile.session().end()) return;
  const std::string& driver = session->machine().idle_driver();
  const bool may_stay_awake = driver != "none";
  notes->push_back(absl::StrFormat(
      "the program runs in a virtual machine whose CPUs halt when they are idle%s, for %.0f %% of "
      "the time here: pauses lasted %.0f %% longer than asked, and the program's own waits do too, "
      "so intervals are wide, a small loss may come from that alone, and gains may be larger where "
      "waits get short; %s",
      driver.empty() || !may_stay_awake ? "" : absl::StrCat(" (", Printable(driver), ")"),
      100 * use.IdleShare(), 100 * excess / (paid - excess),
      may_stay_awake ? "`sudo coz run --awake` keeps CPUs from halting"
                     : "profile with so much load that no CPU is idle, or boot the machine with "
                       "the kernel parameter idle=poll"));
}

void AddRealtime(const ExperimentTable& table, std::vector<std::string>* notes) {
  uint32_t most = 0;
  for (const ExperimentRow& row : table.experiments) most = std::max(most, row.realtime_threads);
  if (most == 0) return;
  notes->push_back(
      absl::StrFormat("%d of the program's threads had a real-time priority; pauses make them late "
                      "for their deadlines, and threads run meanwhile that they keep off the CPU "
                      "else, so effects may look larger than they are; profile them with an "
                      "ordinary priority (`chrt --other 0 …`), or give each a CPU of its own",
                      most));
}

// Its program has the most of them.
struct PageFaults {
  double per_second = 0;
  std::string program;
};

// Of its whole life. They were counted from one look to another, and nobody looks as it ends.
double FaultsOf(const profile::Process& process, double run_time_ns) {
  constexpr double kMostOfStartNs = 1e9;  // a start is not taken for the whole
  const double faults = static_cast<double>(process.major_faults());
  const double counted_ns = static_cast<double>(process.major_faults_ns());
  if (counted_ns < kMostOfStartNs) return faults;
  const double end_ns = process.end_ns() == 0 ? run_time_ns : static_cast<double>(process.end_ns());
  return faults * std::max(1.0, (end_ns - static_cast<double>(process.start_ns())) / counted_ns);
}

PageFaults MajorFaults(const profile::Profile& profile) {
  double all_ns = 0;
  std::map<uint64_t, double> run_times_ns;  // by session
  for (const profile::SessionEnd& end : profile.session_end()) {
    all_ns += static_cast<double>(end.run_time_ns());
    run_times_ns[end.session()] = static_cast<double>(end.run_time_ns());
  }
  PageFaults sum;
  std::map<std::string, double> by_program;
  for (const profile::Process& process : profile.process()) {
    const double faults = FaultsOf(process, run_times_ns[process.session()]);
    if (all_ns > 0) sum.per_second += 1e9 * faults / all_ns;
    by_program[process.program()] += faults;
  }
  const auto most =
      std::max_element(by_program.begin(), by_program.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != by_program.end()) sum.program = most->first;
  return sum;
}

// A fault takes from 0.1 ms, on a fast disk, to 10 ms.
void AddPageFaults(const profile::Profile& profile, std::vector<std::string>* notes) {
  constexpr double kWorthSaying = 20;
  const PageFaults faults = MajorFaults(profile);
  if (faults.per_second < kWorthSaying) return;
  const std::string name = faults.program.substr(faults.program.rfind('/') + 1);
  notes->push_back(absl::StrFormat(
      "threads waited for the disk in %.0f page faults a second (major faults%s): files that are "
      "mapped into memory, or swap; that is no call, so no unit has this time, not even with "
      "--unit=wait, and a faster disk may bring more than any unit; `perf record -e major-faults "
      "-g` shows where; read with pread() and profile with --unit=wait, or load ahead (madvise)",
      faults.per_second, name.empty() ? "" : absl::StrCat(", most of ", Printable(name))));
}

}  // namespace

bool OthersCrowd(const BaselineUse& use) {
  return use.OthersShare() >= kMuchOfOthers && use.IdleShare() < kRoom;
}

bool OthersCrowdMore(const BaselineUse& use, const BaselineUse& than) {
  return OthersCrowd(use) && use.OthersShare() - than.OthersShare() >= kMuchOfOthers;
}

std::vector<std::string> NotesOfSurroundings(const profile::Profile& profile,
                                             const ExperimentTable& table, const BaselineUse& use) {
  std::vector<std::string> notes;
  AddOthers(profile, use, &notes);
  AddQuota(profile, use, &notes);
  AddStolen(use, &notes);
  AddHalts(profile, table, use, &notes);
  AddRealtime(table, &notes);
  AddPageFaults(profile, &notes);
  return notes;
}

}  // namespace coz::report
