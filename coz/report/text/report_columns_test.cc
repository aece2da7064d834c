#include "coz/report/text/report_columns.h"

#include "gtest/gtest.h"

namespace coz::report {
namespace {

TEST(ReportColumnsTest, NarrowTerminalsLoseTheLeastFirst) {
  const TableColumns wide = ChooseColumns(120, 14, 9);
  EXPECT_TRUE(wide.plot && wide.prediction && wide.samples && wide.experiments);
  const TableColumns usual = ChooseColumns(100, 14, 9);
  EXPECT_FALSE(usual.plot);
  EXPECT_TRUE(usual.prediction && usual.samples && usual.experiments);
  const TableColumns eighty = ChooseColumns(84, 14, 9);
  EXPECT_TRUE(eighty.prediction && eighty.samples);
  EXPECT_FALSE(eighty.experiments);
  const TableColumns phone = ChooseColumns(50, 14, 9);
  EXPECT_FALSE(phone.prediction || phone.samples || phone.experiments);
}

TEST(ReportColumnsTest, NamesGetWhatIsLeft) {
  const TableColumns both = ChooseColumns(100, 40, 40);
  EXPECT_EQ(both.place + both.function, 27);
  EXPECT_EQ(both.place, 16);
  const TableColumns short_place = ChooseColumns(100, 10, 40);
  EXPECT_EQ(short_place.place, 10);
  EXPECT_EQ(short_place.function, 17);
  const TableColumns no_function = ChooseColumns(47, 14, 9);
  EXPECT_EQ(no_function.place, 12);
  EXPECT_EQ(no_function.function, 0);
}

}  // namespace
}  // namespace coz::report
