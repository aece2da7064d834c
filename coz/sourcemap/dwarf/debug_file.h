// Opens a binary with its debug information, wherever that lies: in the binary itself, in a
// separate file found by build-id or .gnu_debuglink, or at a debuginfod server.
//
// Shape    one binary, one Dwarf; sections are borrowed from both
// Units    ELF addresses of the binary; addresses of the debug file differ by dwarf_bias()
// Errors   Open: NOT_FOUND or PERMISSION_DENIED when the binary cannot be read, INVALID_ARGUMENT
//          when it is not ELF, FAILED_PRECONDITION when there is no debug information (the message
//          says where it was sought)
// Threads  compatible; Open changes the environment while it asks a server
// Signals  not safe
// Source   elfutils/libdwfl.h; debuginfod_find_debuginfo(3); GDB manual, "Debugging Information in
//          Separate Files"
//
// A server is asked only where DEBUGINFOD_URLS is set. libdebuginfod keeps what it fetched in the
// user's cache folder. It gives up after 10 s without an answer or after 2 min in all, unless
// DEBUGINFOD_TIMEOUT and DEBUGINFOD_MAXTIME say otherwise.
#ifndef COZ_SOURCEMAP_DWARF_DEBUG_FILE_H_
#define COZ_SOURCEMAP_DWARF_DEBUG_FILE_H_

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace coz::sourcemap {

struct AddressRange {
  uint64_t begin;
  uint64_t end;
};

// Orders them, and joins those that overlap.
void MergeRanges(std::vector<AddressRange>* ranges);

struct FunctionSymbol {
  uint64_t begin;  // ELF address
  uint64_t end;
  const char* name;  // borrowed, mangled
};

// "cannot open PATH: REASON; NEXT COMMAND".
absl::Status CannotOpen(const std::string& path, int error);

class DebugFile {
 public:
  // `search_path` is libdwfl's list of folders for separate debug files; empty: its default,
  // `.debug` beside the binary and /usr/lib/debug.
  // With `must_have_debug_info` false it is not even sought: dwarf() is null.
  static absl::StatusOr<std::unique_ptr<DebugFile>> Open(const std::string& path,
                                                         const std::string& search_path,
                                                         bool must_have_debug_info = true);
  ~DebugFile();
  DebugFile(const DebugFile&) = delete;
  DebugFile& operator=(const DebugFile&) = delete;

  Dwarf* dwarf() const { return dwarf_; }
  // ELF address in the binary = address in the debug information + dwarf_bias(), modulo 2^64.
  uint64_t dwarf_bias() const { return dwarf_bias_; }
  // Of the file that holds the debug information: the binary itself or another, or "debuginfod".
  const std::string& debug_path() const { return debug_path_; }
  const std::string& build_id() const { return build_id_; }
  // The package that may hold the binary's .dwo files, or empty.
  std::string split_package() const;
  // The binary's code sections, ordered. Debug information for other addresses is about code that
  // the linker has dropped.
  const std::vector<AddressRange>& code() const { return code_; }
  // Ordered by address.
  std::vector<FunctionSymbol> FunctionSymbols() const;
  // What the units of debug information say to be their code; ordered, and none overlaps another.
  std::vector<AddressRange> CodeOfUnits() const;

 private:
  DebugFile() = default;
  void FindCode(Elf* elf);

  std::string path_;
  std::string search_path_;
  char* search_path_pointer_ = nullptr;  // libdwfl wants a char**
  Dwfl_Callbacks callbacks_ = {};
  Dwfl* dwfl_ = nullptr;
  Dwfl_Module* module_ = nullptr;
  Dwarf* dwarf_ = nullptr;
  uint64_t elf_bias_ = 0;
  uint64_t dwarf_bias_ = 0;
  std::string debug_path_;
  std::string build_id_;
  std::vector<AddressRange> code_;
};

// The bytes of a debug section under any of its names (".debug_x", ".zdebug_x", ".debug_x.dwo"), or
// empty. `suffix` is the part after ".debug_". Sections are decompressed once libdw has opened the
// file.
std::string_view DebugSection(Elf* elf, std::string_view suffix);

// The separate file that .gnu_debuglink of a binary names, where it is beside the binary; call it
// where there is no debug information: then the file is of another build. Empty: there is none.
std::string UnfitDebugFile(const std::string& path, Elf* elf);

// The .dwo file of a skeleton unit, as the unit has it, or null.
const char* SplitFileOf(Dwarf_Die* skeleton);

// Names of sections whose compression libelf does not support.
std::vector<std::string> UnreadableSections(Elf* elf);

// The GNU build-id of the ELF file at `path` alone, without a search for debug information; empty
// where it has none or cannot be read.
std::string ReadBuildId(const std::string& path);

// Bytes of the debug information in the ELF file at `path` itself; 0: it has none.
uint64_t OwnDebugBytes(const std::string& path);

// "\x1a\x2b" as "1a2b".
std::string HexOf(std::string_view bytes);

}  // namespace coz::sourcemap

#endif  // COZ_SOURCEMAP_DWARF_DEBUG_FILE_H_
