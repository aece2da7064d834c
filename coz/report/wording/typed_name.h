// Names as users type them: which names of the profile they fit, and what to suggest where none
// fits.
//
// Shape    '*' in a pattern stands for any characters, and so does '…', with which reports shorten
//          names. Folders or namespaces in front of a name may
//          be left out: `server.cc:12` fits /src/app/server.cc:12, `Run()` fits app::Run()
// Units    none
// Errors   none
// Threads  safe
// Signals  not async-signal-safe
// Source   fnmatch(3)
#ifndef COZ_REPORT_WORDING_TYPED_NAME_H_
#define COZ_REPORT_WORDING_TYPED_NAME_H_

#include <functional>
#include <string>
#include <vector>

namespace coz::report {

bool MatchesName(const std::string& pattern, const std::string& name);

// What the user may have meant, as the end of a sentence: ", the closest are a and b".
using Suggest =
    std::function<std::string(const std::string& wanted, const std::vector<std::string>& names)>;

}  // namespace coz::report

#endif  // COZ_REPORT_WORDING_TYPED_NAME_H_
