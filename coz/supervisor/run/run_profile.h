// Profiles one run of a program, from start to the last record of its profile; or a part of the
// life of a process that runs already.
//
// Shape    one call for one run, which may be one of a series
// Units    in the names
// Errors   what keeps the program from being started or profiled: INVALID_ARGUMENT, NOT_FOUND,
//          PERMISSION_DENIED, FAILED_PRECONDITION, each one sentence with the next command. Once
//          the program runs, nothing ends it but itself.
// Threads  one call at a time: it takes over the process's signals
// Signals  none
// Source   docs/design.md, "Supervisor"
#ifndef COZ_TOOLS_SUPERVISOR_RUN_PROFILE_H_
#define COZ_TOOLS_SUPERVISOR_RUN_PROFILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coz/report/format/profile.pb.h"
#include "coz/sampler/sampler_status.h"
#include "coz/shared/control_block.h"
#include "coz/sourcemap/unit_table.h"
#include "coz/supervisor/points/outside_points.h"
#include "coz/supervisor/run/earlier_profiles.h"
#include "coz/supervisor/run/unpreloaded.h"
#include "coz/supervisor/target/child_process.h"
#include "coz/supervisor/target/source_choice.h"

namespace coz::supervisor {

struct RunOptions {
  std::vector<std::string> command;  // of a process that is attached to, it is found
  pid_t attach_pid = 0;              // attach to this one instead of running the command
  pid_t named_pid = 0;               // its number where coz was started, if that is another; or 0
  bool attach_tree = false;          // and to all that descend from it
  std::string runtime_library;       // path of libcoz.so
  std::string output = "profile.pb";
  bool append = false;  // to an existing profile; otherwise that is kept by number
  std::vector<std::string> binary_scope;  // empty: MAIN
  std::vector<std::string> source_scope;  // empty: the program's own sources
  sourcemap::UnitRules units;
  std::vector<std::string> groups;       // as given, for the profile; `units` has them parsed
  std::vector<std::string> fixed_units;  // names, as UnitIndex::Find takes them
  std::string given;  // the name of what is sped up in every experiment, or empty
  double given_speedup = 0;
  bool innermost_only = false;
  std::vector<std::string> threads;        // patterns of names whose samples count; empty: all
  std::vector<std::string> thread_groups;  // by which units are split, as given
  std::vector<double> fixed_speedups;      // fractions
  bool end_to_end = false;
  OutsidePointOptions points;      // beside the program's own
  std::vector<std::string> count;  // functions whose calls are counted for each thread
  std::vector<std::string> time;   // the same, and timed
  std::vector<std::string> api;    // libraries whose calls are counted by caller
  std::optional<uint64_t> seed;
  uint64_t sampling_period_ns = 0;  // 0: DefaultSamplingPeriodNs of the seed
  std::optional<uint64_t> min_experiment_ns;
  uint64_t duration_ns = 0;  // 0: as long as the program runs
  // Profiling ends when the top units' intervals are at most this wide: a fraction, see
  // PrecisionGoal; 0: no such end.
  double until_width = 0;
  sampler::SamplingSource sampling_source = sampler::SamplingSource::kNone;
  // By how much a perf event lengthens a switch between processes; not given: it is measured where
  // it matters.
  std::optional<uint64_t> switch_cost_ns;
  // The same of clocks of the CPUs.
  std::optional<ClockCost> clock_cost;
  uint32_t unwinder = 0;  // UnwinderKind
  bool exclude_kernel = false;
  bool awake = false;  // idle CPUs do not halt meanwhile
  std::string awake_device = "/dev/cpu_dma_latency";
  shared::Follow follow = shared::Follow::kAll;
  bool is_launcher =
      false;  // the program need not have debug information: what it starts or becomes has
  bool until_last = false;  // go on until every followed process has ended, not only the first
  bool verbose = false;
  bool live = false;  // a ranked table on the terminal while the program runs
};

// Which run this is, of several into one profile.
struct Series {
  int run = 1;
  int most = 1;
  profile::Profile earlier;  // what the runs before have written
};

struct RunResult {
  ExitState exit;
  profile::Profile profile;     // of the whole series so far
  bool precise_enough = false;  // as RunOptions::until_width asks
  std::string precision;        // how far that is, in words; empty where it is not asked for
  std::string profile_path;
  absl::Status profile_status;      // of writing the profile
  EarlierProfiles earlier;          // what the run has put aside; see SettleProfiles
  bool earlier_came_back = false;   // as no run has made an experiment
  std::vector<std::string> points;  // names of all known progress points
  bool end_to_end = false;          // was asked for
  bool visited_points = false;
  bool sampled = false;
  bool sampled_in_scope = false;
  bool runtime_attached = false;
  bool why_is_said = false;           // why the program is not profiled: by itself, or here
  std::string not_shared;             // the binary whose line table the program could not be given
  std::string why_not_shared;         // a clause
  absl::Status left;                  // of a process that was attached to: whether it is as before
  int processes_left = 0;             // followed ones that run on, unprofiled
  uint32_t processes_unprofiled = 0;  // for want of room or a way to sample them
  uint32_t processes_restricted = 0;  // from then on unprofiled: they limited their system calls
  bool processes_elsewhere = false;   // started, in another PID namespace
  bool programs_foreign = false;      // started, of 32 bits or with another C library
  bool programs_unreachable = false;  // started after a change of user, root folder or mounts
  UnpreloadedProgram unpreloaded;     // where the program has only started such ones
  uint32_t processes_unfollowed = 0;  // made by a raw clone that shares memory or descriptors
  uint32_t threads_by_clone = 0;      // made by a raw clone, so not profiled
  std::string missing_unit;  // fixed, given or grouped: no loaded binary in scope has its code
};

// A process that is attached to is left again before this returns.
absl::StatusOr<RunResult> RunProfile(const RunOptions& options, Series series = {});

// After the last run of a series: the profile that it would replace comes back where no run has
// made an experiment. Returns whether it did.
bool SettleProfiles(const EarlierProfiles& earlier, const std::string& output,
                    bool has_experiments);

}  // namespace coz::supervisor

#endif  // COZ_TOOLS_SUPERVISOR_RUN_PROFILE_H_
