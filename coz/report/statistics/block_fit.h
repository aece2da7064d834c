// The line through a line's experiments when the program's own speed drifts: one slope for all, a
// level for each block of time.
//
// Shape    p = level(block)·(1 - slope·speedup), least squares in units of the level, with
//          durations as weights. One block gives the ordinary weighted line
// Units    as RateObservation; residuals are shares of the level
// Errors   ok() is false where the observations cannot tell: no baseline, or no two speedups within
//          any block
// Threads  compatible
// Signals  not async-signal-safe
// Source   Frisch, Waugh and Lovell for taking the levels out; Bell and McCaffrey 2002 for HC2 and
//          Satterthwaite's degrees of freedom
#ifndef COZ_REPORT_STATISTICS_BLOCK_FIT_H_
#define COZ_REPORT_STATISTICS_BLOCK_FIT_H_

#include <cstddef>
#include <vector>

#include "coz/report/statistics/statistics.h"

namespace coz::report {

class BlockFit {
 public:
  // Blocks without a baseline are left out: there is nothing in them to compare with.
  explicit BlockFit(const std::vector<RateObservation>& observations);

  bool ok() const { return ok_; }
  size_t size() const { return points_.size(); }
  double slope() const { return slope_; }

  // Robust standard error of the slope, and its degrees of freedom.
  double SlopeError(double* df) const;

  // For the i-th observation in a block with a baseline: its index among those given, its level,
  // its squared residual as a share of the fitted value, and what the working model expects of that
  // when the relative variance is 1.
  size_t observation(size_t i) const { return points_[i].observation; }
  double level(size_t i) const { return blocks_[points_[i].block].level; }
  double RelativeSquare(size_t i) const;
  double ExpectedRelativeSquare(size_t i) const;

 private:
  struct Point {
    size_t observation;
    size_t block;
    double x, p, raw_weight;
    // As fitted. c is what is left of the level at this speedup, e the residual, d the speedup less
    // what the block's level can explain of it.
    double weight = 0, c = 1, e = 0, d = 0, variance = 1;
  };
  struct Block {
    double level = 1;
    double cc =
        // sums of weight·c², and, with the variances of the working model, of weight²·variance·c²
        // and ·c·d
        0;
    double vcc = 0;
    double vcd = 0;
  };

  void Place(const std::vector<RateObservation>& observations);
  void SetLevels();
  // Fills in what depends on the slope, and returns the step of least squares.
  double Step();
  void FinishModel();
  double Influence(const Point& point) const { return -point.weight * point.d / dd_; }
  // Entry of (I-H)·Ω·(I-H)', with H the hat matrix and Ω the diagonal of the working model's
  // variances.
  double ResidualCovariance(size_t i, size_t j) const;

  std::vector<Point> points_;
  std::vector<Block> blocks_;
  double slope_ = 0;
  double dd_ = 0;   // sum of weight·d²
  double vdd_ = 0;  // sum of weight²·variance·d²
  bool ok_ = false;
};

}  // namespace coz::report

#endif  // COZ_REPORT_STATISTICS_BLOCK_FIT_H_
