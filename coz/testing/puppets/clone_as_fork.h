/*
 * A child as by fork, made by clone() with a stack that has room for little more than the jump by
 * which the child goes on on its copy of the parent's. Sandboxes return twice so.
 */
#ifndef COZ_TESTING_PUPPETS_CLONE_AS_FORK_H_
#define COZ_TESTING_PUPPETS_CLONE_AS_FORK_H_

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/types.h>

static int jump_back(void* to) { longjmp(*(jmp_buf*)to, 1); }

static pid_t clone_as_fork(void) {
  static _Alignas(16) char stack[16384];
  jmp_buf back;
  if (setjmp(back) != 0) return 0;
  return clone(jump_back, stack + sizeof(stack), SIGCHLD, &back);
}

#endif /* COZ_TESTING_PUPPETS_CLONE_AS_FORK_H_ */
