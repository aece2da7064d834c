#include "coz/base/symbol_name.h"

#include <cxxabi.h>

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>

#include "demangle.h"

namespace coz {
namespace {

constexpr size_t kHashBytes = 17;  // an h and 16 hexadecimal digits

bool IsHash(std::string_view text) {
  return text.size() == kHashBytes && text[0] == 'h' &&
         text.find_first_not_of("0123456789abcdef", 1) == std::string_view::npos;
}

// Without what follows on the end of a name in rustc's legacy mangling; others stay as they are.
std::string WithoutAdditions(const std::string& symbol) {
  constexpr std::string_view kStart = "17";  // the hash's length
  for (size_t end = symbol.find("E."); end != std::string::npos; end = symbol.find("E.", end + 1)) {
    if (end < kStart.size() + kHashBytes) continue;
    const std::string_view last = std::string_view(symbol).substr(0, end);
    if (IsHash(last.substr(end - kHashBytes)) &&
        last.substr(end - kHashBytes - kStart.size(), kStart.size()) == kStart) {
      return symbol.substr(0, end + 1);
    }
  }
  return symbol;
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

// The type that a method is of stands in brackets: "<prog::Tree<u64>>::visit". The legacy mangling
// has none. They stay where a trait or what is no path stands in them.
std::string WithoutBracketsOfType(const std::string& name) {
  if (name.size() < 2 || name[0] != '<' || (std::isalpha(name[1]) == 0 && name[1] != '_')) {
    return name;
  }
  int depth = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<') ++depth;
    const bool is_end = name[i] == '>' && name[i - 1] != '-' && --depth == 0;  // "->" is no bracket
    if (is_end) return name.substr(1, i - 1) + name.substr(i + 1);
    if (depth == 1 && name.compare(i, 4, " as ") == 0) return name;
  }
  return name;
}

using Text = std::unique_ptr<char, void (*)(void*)>;

}  // namespace

std::string Demangled(const std::string& symbol) {
  if (symbol.compare(0, 2, "_R") == 0) {
    const Text demangled(rust_demangle(symbol.c_str(), DMGL_NO_OPTS), std::free);
    return demangled == nullptr ? "" : WithoutBracketsOfType(demangled.get());
  }
  int status = 0;
  const Text demangled(
      abi::__cxa_demangle(WithoutAdditions(symbol).c_str(), nullptr, nullptr, &status), std::free);
  return demangled == nullptr ? "" : ReadableRustName(demangled.get());
}

std::string ReadableRustName(std::string_view demangled) {
  const size_t colons = demangled.rfind("::");
  if (colons == std::string_view::npos || !IsHash(demangled.substr(colons + 2))) {
    return std::string(demangled);
  }
  std::string_view rest = demangled.substr(0, colons);
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
