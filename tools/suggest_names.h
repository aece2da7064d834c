// What a user may have meant by a name that a profile does not have.
#ifndef COZ_TOOLS_SUGGEST_NAMES_H_
#define COZ_TOOLS_SUGGEST_NAMES_H_

#include <string>
#include <vector>

namespace coz {

// The end of a sentence: ", the closest are a and b", or one name that is there, or nothing.
std::string SuggestNames(const std::string& wanted, const std::vector<std::string>& names);

}  // namespace coz

#endif  // COZ_TOOLS_SUGGEST_NAMES_H_
