#include "coz/report/text/report_columns.h"

#include "gtest/gtest.h"

namespace coz::report {
namespace {

constexpr ColumnWidths kUsual = {14, 9, 16, 24};

TEST(ReportColumnsTest, NarrowTerminalsLoseTheLeastFirst) {
  const TableColumns wide = ChooseColumns(130, kUsual, true);
  EXPECT_TRUE(wide.interval && wide.shape && wide.plot && wide.samples && wide.experiments);
  const TableColumns usual = ChooseColumns(100, kUsual, false);
  EXPECT_FALSE(usual.plot);
  EXPECT_TRUE(usual.shape && usual.samples);
  const TableColumns eighty = ChooseColumns(80, kUsual, false);
  EXPECT_TRUE(eighty.interval && eighty.samples);
  EXPECT_FALSE(eighty.shape);
  const TableColumns phone = ChooseColumns(50, kUsual, false);
  EXPECT_FALSE(phone.interval || phone.shape || phone.samples);
}

TEST(ReportColumnsTest, CountsOfExperimentsAreForThoseWhoAsk) {
  EXPECT_TRUE(ChooseColumns(200, kUsual, true).experiments);
  EXPECT_FALSE(ChooseColumns(200, kUsual, false).experiments);
}

TEST(ReportColumnsTest, FileAndLineStayReadable) {
  const TableColumns by_function = ChooseColumns(100, {40, 30, 16, 24, 14, false}, false);
  EXPECT_EQ(by_function.function, 14);
  EXPECT_EQ(by_function.place, 12);
  const TableColumns by_line = ChooseColumns(100, {30, 40, 16, 24, 17, true}, false);
  EXPECT_EQ(by_line.place, 17);
  EXPECT_EQ(by_line.function, 9);
}

TEST(ReportColumnsTest, NamesGetWhatIsLeft) {
  const TableColumns both = ChooseColumns(100, {40, 40, 16, 24}, false);
  EXPECT_EQ(both.place + both.function, 26);
  EXPECT_EQ(both.place, 15);
  const TableColumns short_place = ChooseColumns(100, {10, 40, 16, 24}, false);
  EXPECT_EQ(short_place.place, 10);
  EXPECT_EQ(short_place.function, 16);
  const TableColumns no_function = ChooseColumns(kLeastWidth, kUsual, false);
  EXPECT_EQ(no_function.place, 12);
  EXPECT_EQ(no_function.function, 0);
}

}  // namespace
}  // namespace coz::report
