#include "coz/report/text/report_columns.h"

#include <algorithm>

namespace coz::report {
namespace {

// Each with the two blanks before it. Always: the margin, a number of one digit, a slope with a
// sign, its interval and "not yet known".
constexpr int kAlwaysColumns = 2 + 2 + 2 + 7 + 7 + 15;
constexpr int kExperimentColumns = 8;
constexpr int kSampleColumns = 9;
constexpr int kPredictionColumns = 21;
// Where the terminal has fewer columns, plots are left out.
constexpr int kWidthForPlots = 110;

constexpr int kMinNames = 19;
constexpr int kMinFunction = 8;

}  // namespace

TableColumns ChooseColumns(int width, int place, int function) {
  TableColumns columns;
  int space = width - kAlwaysColumns;
  const auto fits = [&space](int needed) {
    const bool enough = space - needed >= kMinNames;
    if (enough) space -= needed;
    return enough;
  };
  columns.prediction = fits(kPredictionColumns);
  columns.samples = columns.prediction && fits(kSampleColumns);
  columns.experiments = columns.samples && fits(kExperimentColumns);
  columns.plot = width >= kWidthForPlots && fits(kPlotColumns + 2);
  space = std::max(space, kLeastWidth - kAlwaysColumns);
  columns.place = place;
  columns.function = function;
  if (place + function <= space) return columns;
  // Places get what they need up to three fifths of the space, functions the rest.
  columns.place = std::min(place, std::max(space * 3 / 5, space - function));
  columns.function = space - columns.place;
  if (columns.function >= kMinFunction) return columns;
  columns.place = std::min(place, space);
  columns.function = 0;
  return columns;
}

}  // namespace coz::report
