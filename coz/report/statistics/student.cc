#include "coz/report/statistics/student.h"

#include <algorithm>
#include <cmath>

#include <boost/math/distributions/students_t.hpp>

namespace coz::report {
namespace {

// Double precision is enough, and no input throws.
using Policy = boost::math::policies::policy<
    boost::math::policies::promote_double<false>,
    boost::math::policies::domain_error<boost::math::policies::ignore_error>,
    boost::math::policies::pole_error<boost::math::policies::ignore_error>,
    boost::math::policies::overflow_error<boost::math::policies::ignore_error>,
    boost::math::policies::evaluation_error<boost::math::policies::ignore_error>>;
using Student = boost::math::students_t_distribution<double, Policy>;

// Satterthwaite's formula gives 1 at the least; below that is rounding, or no data.
Student StudentOf(double df) { return Student(std::isnan(df) ? df : std::max(df, 1.0)); }

}  // namespace

double StudentQuantile(double df) {
  return boost::math::quantile(boost::math::complement(StudentOf(df), 0.025));
}

double TwoSidedPValue(double t, double df) {
  return 2 * boost::math::cdf(boost::math::complement(StudentOf(df), std::fabs(t)));
}

}  // namespace coz::report
