// Names as a program's source has them, of symbols that have a version in theirs.
//
// Shape    none
// Units    none
// Errors   none: other names stay as they are
// Threads  safe
// Signals  async-signal-safe
// Source   .symver of GNU as: NAME@VERSION (an old one) and NAME@@VERSION (the default) in .symtab; .dynsym has NAME alone
#ifndef COZ_BASE_SYMBOL_VERSION_H_
#define COZ_BASE_SYMBOL_VERSION_H_

#include <string_view>

namespace coz {

constexpr std::string_view WithoutSymbolVersion(std::string_view symbol) {
  return symbol.substr(0, symbol.find('@', 1));
}

}  // namespace coz

#endif  // COZ_BASE_SYMBOL_VERSION_H_
