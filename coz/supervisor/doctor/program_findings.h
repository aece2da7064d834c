// What the facts of a program mean for a profile of it, and what to type.
//
// Shape    a finding for each subject, in a fixed order
// Units    in the sentences
// Errors   none
// Threads  safe: a pure function
// Signals  none
// Source   docs/doctor.md
#ifndef COZ_SUPERVISOR_DOCTOR_PROGRAM_FINDINGS_H_
#define COZ_SUPERVISOR_DOCTOR_PROGRAM_FINDINGS_H_

#include <vector>

#include "coz/report/doctor/finding.h"
#include "coz/supervisor/doctor/program_facts.h"

namespace coz::supervisor {

std::vector<report::Finding> FindingsOfProgram(const ProgramFacts& facts);

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_DOCTOR_PROGRAM_FINDINGS_H_
