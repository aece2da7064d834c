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

// What the widest text of each column would take.
struct ColumnWidths {
  int place = 0;
  int function = 0;
  int gain = 0;  // with its interval
  int shape = 0;
  // File and line without a folder, which are kept readable as long as the other name has some
  // columns; they are the place, or beside a function.
  int source = 0;
  bool source_is_place = true;
};

// Number, place, gain and verdict are always shown.
struct TableColumns {
  bool interval = false;  // of the gain
  bool shape = false;
  bool plot = false;
  bool samples = false;
  bool experiments = false;
  // Widths of the names; 0: no function.
  int place = 0;
  int function = 0;
};

// For a terminal of `width` columns. Narrower terminals lose the counts of experiments first, then
// samples, then the shape, and at last the interval. `verbose`: counts of experiments are wanted.
TableColumns ChooseColumns(int width, const ColumnWidths& wanted, bool verbose);

}  // namespace coz::report

#endif  // COZ_REPORT_TEXT_REPORT_COLUMNS_H_
