// Finds the DIEs that describe code, and those around them that give it a name, in one pass over a
// unit's bytes that decodes nothing else.
//
// libdw's tree walk costs a search of the abbreviations per step and attribute; most DIEs are types
// and variables, which need only be skipped.
//
// Shape    DIEs in file order with their depth
// Units    depth counts from the unit's own DIE, 0
// Errors   false for damaged bytes or an unknown form; DIEs visited up to there are valid
// Threads  compatible
// Signals  not safe
// Source   DWARF 5, sections 7.5.2 (units), 7.5.3 (abbreviations) and 7.5.6 (forms)
#ifndef COZ_SOURCEMAP_DWARF_DIE_SCANNER_H_
#define COZ_SOURCEMAP_DWARF_DIE_SCANNER_H_

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "coz/base/byte_reader.h"

namespace coz::sourcemap {

struct UnitEncoding {
  uint16_t version;
  uint8_t address_bytes;
  uint8_t offset_bytes;
};

class DieScanner {
 public:
  struct Kind {
    bool is_code = false;  // a function or an inlined call that has addresses
    bool is_inlined_call = false;
    bool is_scope = false;       // a namespace, class or function that has children
    bool is_local_name = false;  // a function with a name that has no linkage name to qualify it
  };
  // Called for every DIE that is any of these. `die` points at its first byte.
  using Visitor = std::function<void(const Kind& kind, const char* die, uint32_t depth)>;

  // Reads the abbreviations at `offset` of .debug_abbrev for units of `encoding`.
  bool ReadAbbreviations(std::string_view debug_abbrev, uint64_t offset,
                         const UnitEncoding& encoding);

  // Visits the DIEs of interest in `unit`: the bytes from the unit's first DIE to its end.
  bool Scan(std::string_view unit, const Visitor& visit) const;

 private:
  struct Abbreviation {
    bool exists = false;
    bool has_children = false;
    bool is_visited = false;
    Kind kind;
    int32_t fixed_bytes = -1;  // of all attributes together, or -1 when it varies
    uint32_t first_form = 0;   // in forms_
    uint32_t form_count = 0;
  };

  static Kind KindOf(uint64_t tag, bool has_children, bool has_addresses, bool has_local_name);
  bool ReadAbbreviation(ByteReader* reader, Abbreviation* abbreviation);
  const Abbreviation* Find(uint64_t code) const;
  // Bytes of a value of `form` where they do not depend on the value, else -1.
  int32_t FixedBytes(uint64_t form) const;
  bool SkipForm(uint64_t form, ByteReader* reader) const;
  bool SkipAttributes(const Abbreviation& abbreviation, ByteReader* reader) const;

  UnitEncoding encoding_ = {};
  std::vector<Abbreviation> abbreviations_;  // by code
  std::vector<uint16_t> forms_;
};

}  // namespace coz::sourcemap

#endif  // COZ_SOURCEMAP_DWARF_DIE_SCANNER_H_
