// Takes a picture of an HTML report in a headless Chromium, once it is drawn.
//
//   photograph REPORT.html PICTURE.png WIDTH HEIGHT [STATE [dark]]
//
// STATE is the part of the page's address after '#'.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "coz/testing/browser/browser.h"

namespace coz {
namespace {

// True when the page is ready and each card in view has its plot or says that it has none.
constexpr char kDrawn[] =
    "document.documentElement.dataset.ready && "
    "[...document.querySelectorAll('#cards li')].every("
    "(card) => card.querySelector('path.curve, .no-plot'))";

int Fail(const std::string& what) {
  fprintf(stderr, "photograph: %s\n", what.c_str());
  return 1;
}

int Main(const std::string& report, const std::string& picture, int width, int height,
         const std::string& state, bool is_dark) {
  if (!std::filesystem::exists(report)) return Fail(report + " is missing; make it with: coz plot");
  const auto browser = testing::OpenBrowser();
  if (browser == nullptr) return 1;
  browser->ShowOn(width, height, is_dark);
  browser->Open(absl::StrCat("file://", std::filesystem::absolute(report).string(),
                             state.empty() ? "" : "#", state));
  if (!browser->WaitFor(kDrawn)) return Fail("the page was not drawn");
  if (!browser->Photograph(picture)) return Fail("cannot write " + picture);
  const auto complaints = browser->Complaints();
  return complaints.empty() ? 0 : Fail("the page complained: " + complaints.front());
}

}  // namespace
}  // namespace coz

int main(int argc, char** argv) {
  if (argc < 5) {
    fprintf(stderr, "usage: photograph REPORT.html PICTURE.png WIDTH HEIGHT [STATE [dark]]\n");
    return 2;
  }
  return coz::Main(argv[1], argv[2], atoi(argv[3]), atoi(argv[4]), argc > 5 ? argv[5] : "",
                   argc > 6 && std::string(argv[6]) == "dark");
}
