#include "coz/report/wording/names_apart.h"

#include <string>

#include "gtest/gtest.h"

namespace coz::report {
namespace {

const char kAnimate[] = "Rounds<Animate(unsigned int)::<lambda(unsigned int)> >";
const char kPhysics[] = "Rounds<StepPhysics(unsigned int)::<lambda(unsigned int)> >";

TEST(NamesApartTest, InstancesOfATemplateKeepWhatTellsThemApart) {
  const NamesApart names({kAnimate, kPhysics, "Wait<int>"});
  EXPECT_EQ(names.Shorten(kAnimate, 60), kAnimate);
  EXPECT_EQ(names.Shorten(kAnimate, 25), "Rounds<Animate…>");
  EXPECT_EQ(names.Shorten(kPhysics, 25), "Rounds<StepPhysics…>");
  EXPECT_EQ(names.Shorten(kPhysics, 16), "Rounds<StepPhys…");
  EXPECT_EQ(names.Shorten("Wait<int>", 8), "Wait<…>");
}

TEST(NamesApartTest, OneInstanceIsShortenedAsEver) {
  EXPECT_EQ(NamesApart({kAnimate}).Shorten(kAnimate, 25), "Rounds<…>");
}

TEST(NamesApartTest, WhatIsTheSameInFrontIsLeftOut) {
  const std::string one = "void app::Sort<app::Table::Rows, app::ByName>(app::Table&)";
  const std::string other = "int app::Sort<app::Table::Rows, app::BySize>(app::Table&)";
  const NamesApart names({one, other});
  EXPECT_EQ(names.Shorten(one, 22), "app::Sort<…ByName>");
  EXPECT_EQ(names.Shorten(other, 15), "Sort<…BySize>");
}

TEST(NamesApartTest, MethodsOfRustTypesKeepTheirTypes) {
  const std::string a = "<shop::orders::Cart as shop::Job>::run";
  const std::string b = "<shop::orders::Bill as shop::Job>::run";
  const NamesApart names({a, b});
  EXPECT_EQ(names.Shorten(a, 20), "<…Cart…>::run");
  EXPECT_EQ(names.Shorten(b, 20), "<…Bill…>::run");
}

}  // namespace
}  // namespace coz::report
