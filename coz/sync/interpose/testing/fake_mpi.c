#include "coz/sync/interpose/testing/fake_mpi.h"

#include <stdio.h>

int (*fake_mpi_body)(void);
char fake_mpi_seen[256];

int MPI_Send(const void* data, int count, Handle type, int to, int tag, Handle comm) {
  (void)data, (void)count, (void)type, (void)to, (void)tag, (void)comm;
  return fake_mpi_body();
}

int MPI_Isend(const void* data, int count, Handle type, int to, int tag, Handle comm,
              Handle* made) {
  (void)data, (void)count, (void)type, (void)to, (void)tag, (void)comm, (void)made;
  return fake_mpi_body();
}

int MPI_Recv(void* data, int count, Handle type, int from, int tag, Handle comm, Handle* status) {
  (void)data, (void)count, (void)type, (void)from, (void)tag, (void)comm, (void)status;
  return fake_mpi_body();
}

int MPI_Sendrecv(const void* sent, int count, Handle type, int to, int tag, void* received,
                 int most, Handle as, int from, int its_tag, Handle comm, Handle* status) {
  snprintf(fake_mpi_seen, sizeof(fake_mpi_seen), "%p %d %p %d %d %p %d %p %d %d %p %p", sent, count,
           (void*)type, to, tag, received, most, (void*)as, from, its_tag, (void*)comm,
           (void*)status);
  return fake_mpi_body();
}

int PMPI_Wait(Handle* request, Handle* status) {
  (void)request, (void)status;
  return fake_mpi_body();
}

int MPI_Wait(Handle* request, Handle* status) { return PMPI_Wait(request, status); }
