// Turns a symbol into the name that the source has, without what a linker or compiler has added.
//
// Shape    none
// Units    none
// Errors   none: other names stay as they are
// Threads  safe
// Signals  async-signal-safe
// Source   .symver of GNU as: NAME@VERSION (an old one) and NAME@@VERSION (the default) in .symtab;
//          .dynsym has NAME alone. rustc's legacy mangling ends names with ::h and 16 hexadecimal
//          digits
#ifndef COZ_BASE_SYMBOL_NAME_H_
#define COZ_BASE_SYMBOL_NAME_H_

#include <string_view>

namespace coz {

constexpr std::string_view WithoutSymbolVersion(std::string_view symbol) {
  return symbol.substr(0, symbol.find('@', 1));
}

// "prog::work::h0123456789abcdef" as "prog::work".
constexpr std::string_view WithoutRustHash(std::string_view demangled) {
  constexpr std::string_view kStart = "::h";
  constexpr size_t kHashBytes = kStart.size() + 16;
  if (demangled.size() <= kHashBytes) return demangled;
  const size_t at = demangled.size() - kHashBytes;
  const bool is_hash =
      demangled.substr(at, kStart.size()) == kStart &&
      demangled.find_first_not_of("0123456789abcdef", at + kStart.size()) == std::string_view::npos;
  return is_hash ? demangled.substr(0, at) : demangled;
}

}  // namespace coz

#endif  // COZ_BASE_SYMBOL_NAME_H_
