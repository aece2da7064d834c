// Which columns of the report's table a terminal has room for.
//
// Shape    see TableColumns
// Units    columns of a terminal
// Errors   none; below kLeastWidth columns the table is wider than the terminal
// Threads  safe
// Signals  nothing here is async-signal-safe
// Source   none
#ifndef COZ_REPORT_TEXT_REPORT_COLUMNS_H_
#define COZ_REPORT_TEXT_REPORT_COLUMNS_H_

namespace coz::report {

// Values of a plot, from 10 % to 100 %.
constexpr int kPlotColumns = 10;
constexpr int kLeastWidth = 47;

// Number, place, slope with its interval and verdict are always shown.
struct TableColumns {
  bool plot = false;
  bool prediction = false;
  bool samples = false;
  bool experiments = false;
  // Widths of the names; 0: no function.
  int place = 0;
  int function = 0;
};

// For a terminal of `width` columns, and names that would take `place` and `function` columns.
// Narrower terminals lose the counts of experiments first, then samples, then the prediction.
TableColumns ChooseColumns(int width, int place, int function);

}  // namespace coz::report

#endif  // COZ_REPORT_TEXT_REPORT_COLUMNS_H_
