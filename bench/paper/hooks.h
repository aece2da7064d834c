/* What PARSEC's programs call where -DENABLE_PARSEC_HOOKS is set. hooks.c prints how long the
 * region of interest took. */
#ifndef COZ_BENCH_PAPER_HOOKS_H_
#define COZ_BENCH_PAPER_HOOKS_H_

#ifdef __cplusplus
extern "C" {
#endif

/* The names are PARSEC's. */
enum __parsec_benchmark {
  __parsec_blackscholes,
  __parsec_dedup,
  __parsec_ferret,
  __parsec_fluidanimate,
  __parsec_streamcluster,
  __parsec_swaptions
};

void __parsec_bench_begin(enum __parsec_benchmark benchmark);
void __parsec_bench_end(void);
void __parsec_roi_begin(void);
void __parsec_roi_end(void);

#ifdef __cplusplus
}
#endif

#endif /* COZ_BENCH_PAPER_HOOKS_H_ */
