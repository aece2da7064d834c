#include "coz/base/call_path_name.h"

#include <cstddef>

namespace coz {
namespace {

constexpr std::string_view kBetween = " < ";
constexpr std::string_view kOperator = "operator";

std::string Trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(' ') - first + 1));
}

// Whether the sign at `at` is part of an operator's name, as in "operator<<" and "operator->".
bool IsOfOperator(std::string_view name, size_t at) {
  while (at > 0 && std::string_view("<>-=").find(name[at - 1]) != std::string_view::npos) --at;
  return at >= kOperator.size() &&
         name.substr(at - kOperator.size(), kOperator.size()) == kOperator;
}

// Places of the '<' that no '>' closes.
std::vector<size_t> OpenSigns(std::string_view name) {
  std::vector<size_t> open;
  for (size_t i = 0; i < name.size(); ++i) {
    if ((name[i] != '<' && name[i] != '>') || IsOfOperator(name, i)) continue;
    const bool is_arrow = i > 0 && name[i - 1] == '-';
    if (name[i] == '<') {
      open.push_back(i);
    } else if (!open.empty() && !is_arrow) {
      open.pop_back();
    }
  }
  return open;
}

}  // namespace

std::string JoinCallPath(const std::vector<std::string>& functions) {
  std::string name;
  for (const std::string& function : functions) {
    if (!name.empty()) name += kBetween;
    name += function;
  }
  return name;
}

std::vector<std::string> SplitCallPath(std::string_view name) {
  std::vector<std::string> functions;
  size_t begin = 0;
  if (name.find(kBetween) != std::string_view::npos) {
    for (size_t end; (end = name.find(kBetween, begin)) != std::string_view::npos;
         begin = end + kBetween.size()) {
      functions.push_back(Trimmed(name.substr(begin, end - begin)));
    }
  } else {
    for (size_t end : OpenSigns(name)) {
      functions.push_back(Trimmed(name.substr(begin, end - begin)));
      begin = end + 1;
    }
  }
  functions.push_back(Trimmed(name.substr(begin)));
  return functions;
}

}  // namespace coz
