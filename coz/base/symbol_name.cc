#include "coz/base/symbol_name.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace coz {
namespace {

// Empty where there is none.
std::string_view HashOf(std::string_view demangled) {
  constexpr std::string_view kStart = "::h";
  constexpr size_t kHashBytes = kStart.size() + 16;
  if (demangled.size() <= kHashBytes) return "";
  const std::string_view hash = demangled.substr(demangled.size() - kHashBytes);
  const bool is_hash =
      hash.substr(0, kStart.size()) == kStart &&
      hash.find_first_not_of("0123456789abcdef", kStart.size()) == std::string_view::npos;
  return is_hash ? hash : "";
}

// What stands between two dollars: '\0' for what is no escape.
char CharacterOf(std::string_view escape) {
  constexpr std::pair<std::string_view, char> kNamed[] = {{"SP", '@'}, {"BP", '*'}, {"RF", '&'},
                                                          {"LT", '<'}, {"GT", '>'}, {"LP", '('},
                                                          {"RP", ')'}, {"C", ','}};
  for (const auto& [name, character] : kNamed) {
    if (escape == name) return character;
  }
  if (escape.size() != 3 || escape[0] != 'u') return '\0';
  int code = 0;
  for (const char digit : escape.substr(1)) {
    const bool is_number = digit >= '0' && digit <= '9';
    if (!is_number && (digit < 'a' || digit > 'f')) return '\0';
    code = code * 16 + (is_number ? digit - '0' : digit - 'a' + 10);
  }
  return code >= ' ' && code < 0x7f ? static_cast<char>(code) : '\0';
}

}  // namespace

std::string ReadableRustName(std::string_view demangled) {
  const std::string_view hash = HashOf(demangled);
  if (hash.empty()) return std::string(demangled);
  std::string_view rest = demangled.substr(0, demangled.size() - hash.size());
  std::string name;
  while (!rest.empty()) {
    const bool is_begin = name.empty() || name.back() == ':';
    if (is_begin && rest.substr(0, 2) == "_$") rest.remove_prefix(1);
    const size_t end = rest[0] == '$' ? rest.find('$', 1) : std::string_view::npos;
    const char escaped =
        end == std::string_view::npos ? '\0' : CharacterOf(rest.substr(1, end - 1));
    if (escaped != '\0') {
      name.push_back(escaped);
      rest.remove_prefix(end + 1);
    } else if (rest.substr(0, 2) == "..") {
      name.append("::");
      rest.remove_prefix(2);
    } else {
      name.push_back(rest[0]);
      rest.remove_prefix(1);
    }
  }
  return name;
}

}  // namespace coz
