// What the facts of a machine mean for profiles made on it, and what to type.
//
// Shape    a finding for each subject, in a fixed order
// Units    in the sentences
// Errors   none
// Threads  safe: a pure function
// Signals  none
// Source   docs/doctor.md
#ifndef COZ_SUPERVISOR_DOCTOR_MACHINE_FINDINGS_H_
#define COZ_SUPERVISOR_DOCTOR_MACHINE_FINDINGS_H_

#include <vector>

#include "coz/report/doctor/finding.h"
#include "coz/supervisor/doctor/machine_facts.h"

namespace coz::supervisor {

std::vector<report::Finding> FindingsOfMachine(const MachineFacts& facts);

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_DOCTOR_MACHINE_FINDINGS_H_
