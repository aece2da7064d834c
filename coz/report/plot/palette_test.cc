// The page's colours can be told apart and read, also by those who see with two kinds of cones.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace coz::report {
namespace {

using Color = std::array<double, 3>;  // linear red, green, blue, 0-1
using Palette = std::map<std::string, Color>;

struct Eyes {
  const char* name;
  std::array<std::array<double, 3>, 3> seen;
};

// Machado, Oliveira, Fernandes: A Physiologically-based Model for Simulation of Color Vision
// Deficiency, 2009, severity 1.
constexpr Eyes kEyes[] = {
    {"ordinary", {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}},
    {"protanopia",
     {{{0.152286, 1.052583, -0.204868},
       {0.114503, 0.786281, 0.099216},
       {-0.003882, -0.048116, 1.051998}}}},
    {"deuteranopia",
     {{{0.367322, 0.860646, -0.227968},
       {0.280085, 0.672501, 0.047413},
       {-0.011820, 0.042940, 0.968881}}}},
    {"tritanopia",
     {{{1.255528, -0.076749, -0.178779},
       {-0.078411, 0.930809, 0.147602},
       {0.004733, 0.691367, 0.303900}}}},
};
constexpr const char* kVerdicts[] = {"faster", "slower", "none", "open"};
// CIE76; about 2.3 is the least difference that is seen side by side.
constexpr double kMinDifference = 18;
// WCAG 2.1, 1.4.3 for text; 1.4.11 for what is drawn.
constexpr double kMinTextContrast = 4.5;
constexpr double kMinDrawnContrast = 3;

double Linear(const std::string& hex, size_t at) {
  const double c = static_cast<double>(strtol(hex.substr(at, 2).c_str(), nullptr, 16)) / 255;
  return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
}

// The colours of each block that sets them: light, dark, and dark as the system's choice.
std::vector<Palette> Palettes() {
  std::ifstream file("coz/report/plot/page/page.css");
  const std::string css(std::istreambuf_iterator<char>(file), {});
  const std::regex block("\\{[^{}]*--page:[^{}]*\\}");
  const std::regex color("--([a-z-]+): #([0-9a-f]{6});");
  std::vector<Palette> palettes;
  for (std::sregex_iterator b(css.begin(), css.end(), block), end; b != end; ++b) {
    const std::string text = b->str();
    Palette& palette = palettes.emplace_back();
    for (std::sregex_iterator c(text.begin(), text.end(), color); c != end; ++c) {
      const std::string hex = (*c)[2];
      palette[(*c)[1]] = {Linear(hex, 0), Linear(hex, 2), Linear(hex, 4)};
    }
  }
  return palettes;
}

Color Seen(const Color& color, const Eyes& eyes) {
  Color seen = {};
  for (size_t i = 0; i < 3; ++i) {
    for (size_t j = 0; j < 3; ++j) seen[i] += eyes.seen[i][j] * color[j];
    seen[i] = std::clamp(seen[i], 0.0, 1.0);
  }
  return seen;
}

double Luminance(const Color& c) { return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]; }

double Contrast(const Color& a, const Color& b) {
  const auto [dark, light] = std::minmax({Luminance(a), Luminance(b)});
  return (light + 0.05) / (dark + 0.05);
}

// CIE L*a*b*, white D65.
std::array<double, 3> Lab(const Color& c) {
  const auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
  const double x = f((0.4124564 * c[0] + 0.3575761 * c[1] + 0.1804375 * c[2]) / 0.95047);
  const double y = f(0.2126729 * c[0] + 0.7151522 * c[1] + 0.0721750 * c[2]);
  const double z = f((0.0193339 * c[0] + 0.1191920 * c[1] + 0.9503041 * c[2]) / 1.08883);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

double Difference(const Color& a, const Color& b) {
  const auto [l, m] = std::pair(Lab(a), Lab(b));
  return std::hypot(l[0] - m[0], l[1] - m[1], l[2] - m[2]);
}

TEST(PaletteTest, LightAndDarkAreThereAndDarkIsTheSameTwice) {
  const std::vector<Palette> palettes = Palettes();
  ASSERT_EQ(palettes.size(), 3);
  EXPECT_EQ(palettes[1], palettes[2]);
  EXPECT_GT(Luminance(palettes[0].at("page")), 0.8);
  EXPECT_LT(Luminance(palettes[1].at("page")), 0.05);
}

TEST(PaletteTest, VerdictsStayApartForAllEyes) {
  for (const Palette& palette : Palettes()) {
    for (const Eyes& eyes : kEyes) {
      for (const char* a : kVerdicts) {
        for (const char* b : kVerdicts) {
          if (a == b) continue;
          EXPECT_GE(Difference(Seen(palette.at(a), eyes), Seen(palette.at(b), eyes)),
                    kMinDifference)
              << a << " and " << b << ", " << eyes.name;
        }
      }
    }
  }
}

TEST(PaletteTest, CurvesStandOutFromTheirCardForAllEyes) {
  for (const Palette& palette : Palettes()) {
    for (const Eyes& eyes : kEyes) {
      for (const char* verdict : kVerdicts) {
        EXPECT_GE(Contrast(Seen(palette.at(verdict), eyes), Seen(palette.at("surface"), eyes)),
                  kMinDrawnContrast)
            << verdict << ", " << eyes.name;
      }
    }
  }
}

TEST(PaletteTest, TextCanBeRead) {
  for (const Palette& palette : Palettes()) {
    for (const std::string verdict : kVerdicts) {
      EXPECT_GE(Contrast(palette.at(verdict), palette.at(verdict + "-soft")), kMinTextContrast)
          << verdict;
    }
    for (const char* text : {"ink", "muted"}) {
      for (const char* ground : {"page", "surface", "raised", "cell", "field"}) {
        EXPECT_GE(Contrast(palette.at(text), palette.at(ground)), kMinTextContrast)
            << text << " on " << ground;
      }
    }
    EXPECT_GE(Contrast(palette.at("ink"), palette.at("here")), kMinTextContrast);
  }
}

}  // namespace
}  // namespace coz::report
