// Asks another DWARF reader which lines an address has.
//
// Each has its own blind spots, so the caller chooses: eu-addr2line knows no references between
// units (-flto) and needs .debug_aranges, which clang leaves out; addr2line of binutils 2.40
// confuses the files of DWARF 5.
//
// Shape    for each address its frames, the innermost first
// Units    ELF addresses
// Errors   no answers when the tool could not be run
// Threads  compatible
// Signals  not safe
// Source   eu-addr2line(1), addr2line(1)
#ifndef COZ_SOURCEMAP_TESTING_LINE_ORACLE_H_
#define COZ_SOURCEMAP_TESTING_LINE_ORACLE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace coz::sourcemap {

struct OracleFrame {
  std::string function;  // mangled
  std::string file;      // clean, "??" where unknown
  uint32_t line;         // 0 where unknown
};

// `tool`: eu-addr2line, addr2line, or a tool with their options and output, such as
// llvm-symbolizer.
std::vector<std::vector<OracleFrame>> AskOracle(const std::string& tool, const std::string& path,
                                                const std::vector<uint64_t>& addresses);

}  // namespace coz::sourcemap

#endif  // COZ_SOURCEMAP_TESTING_LINE_ORACLE_H_
