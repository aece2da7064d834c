// A fixture for tests that ask a session of coz for its points while it runs.
//
// Shape    one session at a time, of `coz run` or `coz attach`, in the test's folder
// Units    visits
// Errors   a session that never answers is asked a thousand times; the test then fails by what it
//          expects
// Threads  as a test fixture; Points may run in several
// Signals  none
// Source   none
#ifndef COZ_TESTING_COZ_SESSION_H_
#define COZ_TESTING_COZ_SESSION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "coz/testing/coz_run.h"
#include "coz/testing/resident.h"
#include "coz/testing/run_command.h"

namespace coz::testing {

class CozSessionTest : public CozRunTest {
 protected:
  // Returns when it can be asked.
  void StartSession(const std::vector<std::string>& command);
  // Interrupts it, and expects that it exits.
  void EndSession();

  // `coz points --session` with these options.
  CommandResult Points(const std::vector<std::string>& options) const;
  // As the list has it; -1: it is not there.
  int64_t Visits(const std::string& point) const;

  std::unique_ptr<Resident> session_;
};

}  // namespace coz::testing

#endif  // COZ_TESTING_COZ_SESSION_H_
