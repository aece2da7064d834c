#include "coz/report/text/report_columns.h"

#include <algorithm>

namespace coz::report {
namespace {

// Each with the two blanks before it. Always: the margin, a number of one digit, the blanks before
// the place, and "not yet known".
constexpr int kAlwaysColumns = 2 + 2 + 2 + 15;
constexpr int kGainHead = 12;  // "gain at 30 %"
constexpr int kGapColumns = 2;
constexpr int kExperimentColumns = 9;
constexpr int kSampleColumns = 9;
// Where the terminal has fewer columns, intervals and plots are left out.
constexpr int kWidthForIntervals = 60;
constexpr int kWidthForPlots = 110;

constexpr int kMinNames = 19;
constexpr int kMinFunction = 8;

}  // namespace

TableColumns ChooseColumns(int width, const ColumnWidths& wanted, bool verbose) {
  TableColumns columns;
  columns.interval = width >= kWidthForIntervals;
  const int gain = columns.interval ? std::max(kGainHead, wanted.gain) : kGainHead;
  const int always = kAlwaysColumns + kGapColumns + gain;
  int space = width - always;
  const auto fits = [&space](int needed) {
    const bool enough = space - needed >= kMinNames;
    if (enough) space -= needed;
    return enough;
  };
  columns.shape = fits(wanted.shape + kGapColumns);
  columns.samples = fits(kSampleColumns);
  columns.experiments = verbose && columns.samples && fits(kExperimentColumns);
  columns.plot = width >= kWidthForPlots && fits(kPlotColumns + kGapColumns);
  space = std::max(space, kLeastWidth - kAlwaysColumns - kGapColumns - kGainHead);
  columns.place = wanted.place;
  columns.function = wanted.function;
  if (wanted.place + wanted.function <= space) return columns;
  // Places get what they need up to three fifths of the space, functions the rest.
  columns.place = std::min(wanted.place, std::max(space * 3 / 5, space - wanted.function));
  columns.function = space - columns.place;
  const int most = space - kMinFunction;
  int& source = wanted.source_is_place ? columns.place : columns.function;
  source = std::max(source, std::min(wanted.source, most));
  (wanted.source_is_place ? columns.function : columns.place) = space - source;
  if (columns.function >= kMinFunction) return columns;
  columns.place = std::min(wanted.place, space);
  columns.function = 0;
  return columns;
}

}  // namespace coz::report
