/*
 * Filters of system calls of this process, in all threads (seccomp(2)).
 */
#ifndef COZ_TESTING_PUPPETS_SHOW_CALLS_H_
#define COZ_TESTING_PUPPETS_SHOW_CALLS_H_

/*
 * From now on each call of that number waits for an answer by the descriptor that is returned, in
 * all threads; -1: each of any number. Writes to standard output wait for nothing. Negative where
 * the kernel does not do it.
 */
int show_calls(int number);

/* From now on a call of that number ends the process. Not 0 where the kernel does not do it. */
int forbid_call(int number);

#endif /* COZ_TESTING_PUPPETS_SHOW_CALLS_H_ */
