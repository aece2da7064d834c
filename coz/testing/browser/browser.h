// A headless Chromium for tests of pages, driven through chromedriver.
//
// Shape    one browser with one window; scripts are bodies of functions whose results come back as
//          JSON
// Units    pixels, milliseconds
// Errors   a test failure and a null result where the browser does not do what it is told;
//          OpenBrowser gives nullptr where it is not installed, and prints how to install it
// Threads  owner
// Signals  none
// Source   W3C WebDriver; chromedriver's `se/log` extension
#ifndef COZ_TESTING_BROWSER_BROWSER_H_
#define COZ_TESTING_BROWSER_BROWSER_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

namespace coz::testing {

class Browser {
 public:
  ~Browser();

  void Open(const std::string& address);
  void Resize(int width, int height);
  // A screen of exactly this size, in this scheme, whatever window there is: for pictures.
  void ShowOn(int width, int height, bool is_dark);
  // Writes what is seen to `path`, as PNG, once two frames have been drawn and all fonts are there.
  bool Photograph(const std::string& path);
  // Runs a function's body in the page; `return` gives the result.
  nlohmann::json Run(const std::string& script);
  // Runs it again and again until it is true; false after 20 s.
  bool WaitFor(const std::string& condition);
  // Presses keys where the focus is; keys of WebDriver for special ones, "\uE007" is Enter.
  void Press(const std::string& keys);
  // What the console got since the last call, warnings and errors.
  std::vector<std::string> Complaints();

 private:
  friend std::unique_ptr<Browser> OpenBrowser(const std::vector<std::string>& arguments);
  Browser() = default;

  nlohmann::json Call(const std::string& method, const std::string& path,
                      const nlohmann::json& body);

  pid_t driver_ = -1;
  int driver_output_ = -1;
  uint16_t port_ = 0;
  std::string session_;
};

// `arguments` are added to Chromium's.
std::unique_ptr<Browser> OpenBrowser(const std::vector<std::string>& arguments = {});

}  // namespace coz::testing

#endif  // COZ_TESTING_BROWSER_BROWSER_H_
