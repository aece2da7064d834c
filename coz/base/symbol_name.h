// Turns a symbol into the name that the source has, without what a linker or compiler has added.
//
// Shape    none
// Units    none
// Errors   none: other names stay as they are
// Threads  safe
// Signals  WithoutSymbolVersion is async-signal-safe
// Source   .symver of GNU as: NAME@VERSION (an old one) and NAME@@VERSION (the default) in .symtab;
//          .dynsym has NAME alone. rustc's legacy mangling (rustc_symbol_mangling::legacy) is that
//          of C++, ends names with ::h and 16 hexadecimal digits, and writes other characters as
//          $LT$ or $u7b$. LLVM adds .llvm.NUMBER or .cold behind that, which no rule of C++ takes
//          behind a name without parameters. rustc's newer mangling is RFC 2603 (v0)
#ifndef COZ_BASE_SYMBOL_NAME_H_
#define COZ_BASE_SYMBOL_NAME_H_

#include <string>
#include <string_view>

namespace coz {

constexpr std::string_view WithoutSymbolVersion(std::string_view symbol) {
  return symbol.substr(0, symbol.find('@', 1));
}

// The name that a mangled symbol has in C++ or Rust; empty: it is not mangled.
std::string Demangled(const std::string& symbol);

// A name that the rules of C++ have demangled, as Rust has it: "prog::work::h0123456789abcdef" as
// "prog::work", "prog::main::_$u7b$$u7b$closure$u7d$$u7d$::h…" as "prog::main::{{closure}}". Others
// stay as they are.
std::string ReadableRustName(std::string_view demangled);

}  // namespace coz

#endif  // COZ_BASE_SYMBOL_NAME_H_
