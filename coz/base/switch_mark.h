// Tells a thread, without a system call, whether the kernel has switched away from it since it set
// its mark.
//
// The mark is the address of a restartable sequence in which the thread never is. The kernel takes
// such an address away where it switches between threads, moves a thread or delivers a signal to
// it.
//
// Shape    one mark per thread, in the rseq area that libc registers; code of the program that uses
//          restartable sequences takes the mark away, too
// Units    none
// Errors   SwitchMarksWork: false where libc has registered no area (before 2.35, or by its tunable
//          glibc.pthread.rseq), or where the kernel leaves marks alone
// Threads  each thread its own
// Signals  async-signal-safe; SwitchMarksWork sleeps for a moment at its first call
// Source   rseq(2); kernel/rseq.c: rseq_ip_fixup
#ifndef COZ_BASE_SWITCH_MARK_H_
#define COZ_BASE_SWITCH_MARK_H_

namespace coz {

// Tries it once for the process.
bool SwitchMarksWork();

// Where SwitchMarksWork only.
void SetSwitchMark();
// True: the thread has had its CPU ever since. False: it may have lost it.
bool HoldsSwitchMark();

}  // namespace coz

#endif  // COZ_BASE_SWITCH_MARK_H_
