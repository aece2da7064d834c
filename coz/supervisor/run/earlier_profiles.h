// Keeps the profile that a run would replace, by number: FILE.1 is the last one, FILE.2 the one
// before it, up to FILE.9. A run without experiments gives back what it found.
//
// Shape    Keep before FILE is opened; then, when the run is over, Settle or GiveBack
// Units    none
// Errors   Keep: UNAVAILABLE when a file cannot be renamed; FILE is then where it was
// Threads  compatible
// Signals  none
// Source   rename(2)
#ifndef COZ_SUPERVISOR_RUN_EARLIER_PROFILES_H_
#define COZ_SUPERVISOR_RUN_EARLIER_PROFILES_H_

#include <string>

#include "absl/status/statusor.h"

namespace coz::supervisor {

inline constexpr int kEarlierProfiles = 9;

struct EarlierProfiles {
  std::string last;     // FILE.1, or "" where there was nothing to keep
  int moved = 0;        // files, FILE included
  bool is_new = false;  // FILE was not there
};

// Moves FILE to FILE.1, and those with numbers by one; what had the last number stays as one more
// until Settle. There is nothing to keep of what is no regular file, empty, or a profile without
// experiments.
absl::StatusOr<EarlierProfiles> KeepEarlier(const std::string& file);

// After a run with experiments: drops what has a number above kEarlierProfiles.
void SettleEarlier(const std::string& file);

// After a run without: undoes KeepEarlier, in place of what the run wrote. Where FILE was not there
// and nothing was written to it, it goes.
void GiveBackEarlier(const std::string& file, const EarlierProfiles& earlier);

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_RUN_EARLIER_PROFILES_H_
