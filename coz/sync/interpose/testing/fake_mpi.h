/* An MPI library that calls the program where a real one would wait or send.
 *
 * Shape    as mpi.h of a library whose handles are pointers
 * Units    none
 * Errors   calls return what the program's function returns
 * Threads  none
 * Signals  none
 * Source   MPI 3.1 */
#ifndef COZ_SYNC_INTERPOSE_TESTING_FAKE_MPI_H_
#define COZ_SYNC_INTERPOSE_TESTING_FAKE_MPI_H_

typedef struct fake_handle* Handle;

/* What a call does. */
extern int (*fake_mpi_body)(void);
/* The last parameters of MPI_Sendrecv, as a text. */
extern char fake_mpi_seen[256];

int MPI_Send(const void* data, int count, Handle type, int to, int tag, Handle comm);
int MPI_Isend(const void* data, int count, Handle type, int to, int tag, Handle comm, Handle* made);
int MPI_Recv(void* data, int count, Handle type, int from, int tag, Handle comm, Handle* status);
int MPI_Sendrecv(const void* sent, int count, Handle type, int to, int tag, void* received,
                 int most, Handle as, int from, int its_tag, Handle comm, Handle* status);
/* As of a tool: it calls PMPI_Wait. */
int MPI_Wait(Handle* request, Handle* status);
int PMPI_Wait(Handle* request, Handle* status);

#endif /* COZ_SYNC_INTERPOSE_TESTING_FAKE_MPI_H_ */
