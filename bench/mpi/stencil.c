/* A stencil of two ranks with a known answer. In a step rank 0 computes for ROOT us what both
 * wait for (MPI_Bcast). Then it computes for LONG us, and rank 1 for SHORT us. They swap the ends
 * of their halves (MPI_Sendrecv) and sum up what changed (MPI_Allreduce). So a step takes
 *
 *   now                  ROOT + LONG, where LONG > SHORT
 *   Root faster by s     (1 - s) ROOT + LONG
 *   Long faster by s     ROOT + max((1 - s) LONG, SHORT)
 *   Short faster by s    no less
 *
 *   mpirun -n 2 stencil ROOT LONG SHORT STEPS     prints what a step took in us
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "coz.h"

enum { kCells = 1024 };
static double g_cells[kCells + 2];

static double NowUs(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

#define RELAX(rounds)                                                         \
  for (long round = 0; round < (rounds); ++round) {                           \
    for (int i = 1; i <= 64; ++i)                                             \
      g_cells[i] = (g_cells[i - 1] + 2 * g_cells[i] + g_cells[i + 1]) * 0.25; \
  }

__attribute__((noinline, noclone, no_icf)) static void Root(long rounds) { RELAX(rounds) }
__attribute__((noinline, noclone, no_icf)) static void Long(long rounds) { RELAX(rounds) }
__attribute__((noinline, noclone, no_icf)) static void Short(long rounds) { RELAX(rounds) }

static double RoundsPerUs(void) {
  double best = 0;
  for (int i = 0; i < 20; ++i) {
    const double start = NowUs();
    Long(20000);
    const double rate = 20000 / (NowUs() - start);
    if (rate > best) best = rate;
  }
  return best;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 5 || size != 2) {
    if (rank == 0) fprintf(stderr, "write: mpirun -n 2 stencil ROOT LONG SHORT STEPS\n");
    MPI_Finalize();
    return 2;
  }
  double rate = RoundsPerUs();
  MPI_Bcast(&rate, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  const long root = (long)(atof(argv[1]) * rate);
  const long rounds = (long)(atof(argv[2 + rank]) * rate);
  const long steps = atol(argv[4]);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = NowUs();
  for (long step = 0; step < steps; ++step) {
    double source = g_cells[kCells];
    if (rank == 0) Root(root);
    MPI_Bcast(&source, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    g_cells[kCells] = source;
    if (rank == 0) {
      Long(rounds);
    } else {
      Short(rounds);
    }
    double halo = g_cells[kCells], changed = g_cells[1], sum = 0;
    MPI_Sendrecv(&g_cells[1], 1, MPI_DOUBLE, 1 - rank, 0, &halo, 1, MPI_DOUBLE, 1 - rank, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    g_cells[0] = halo;
    MPI_Allreduce(&changed, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) COZ_PROGRESS_NAMED("step");
  }
  if (rank == 0) printf("%.1f\n", (NowUs() - start) / (double)steps);
  MPI_Finalize();
  return 0;
}
