// What a process's filters of system calls (seccomp) do with the calls that coz makes in it.
//
// Shape    a filter is a program over the number and the arguments of a call. The harshest answer
//          of a process's filters counts
// Units    SECCOMP_RET_ values
// Errors   a program that leaves its bounds kills, as the kernel takes none like it
// Threads  safe
// Signals  not safe
// Source   seccomp(2); bpf(4) of FreeBSD for the classic instructions
#ifndef COZ_ATTACH_CALL_FILTER_H_
#define COZ_ATTACH_CALL_FILTER_H_

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cstdint>
#include <string>
#include <vector>

namespace coz::attach {

using CallFilter = std::vector<sock_filter>;

uint32_t AnswerOf(const CallFilter& filter, const seccomp_data& call);

// The first call of coz for which a filter would end the process or send it a signal; empty: there
// is none. Calls that fail are none, nor are those that another process answers.
std::string UnsafeCall(const std::vector<CallFilter>& filters);

}  // namespace coz::attach

#endif  // COZ_ATTACH_CALL_FILTER_H_
