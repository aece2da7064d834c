// Finds the DIEs that describe code, in one pass over a unit's bytes that decodes nothing else.
//
// libdw's tree walk costs a search of the abbreviations per step and attribute; most DIEs are types and
// variables, which need only be skipped.
//
// Shape    DIEs in file order with their depth: those of functions and inlined calls that have
//          addresses
// Units    depth counts from the unit's own DIE, 0
// Errors   false for damaged bytes or an unknown form; DIEs visited up to there are valid
// Threads  compatible
// Signals  not safe
// Source   DWARF 5, sections 7.5.2 (units), 7.5.3 (abbreviations) and 7.5.6 (forms)
#ifndef COZ_SOURCEMAP_DIE_SCANNER_H_
#define COZ_SOURCEMAP_DIE_SCANNER_H_

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "coz/sourcemap/byte_reader.h"

namespace coz {

struct UnitEncoding {
  uint16_t version;
  uint8_t address_bytes;
  uint8_t offset_bytes;
};

class DieScanner {
 public:
  enum class Kind { kFunction, kInlinedCall };
  // `die` points at the DIE's first byte.
  using Visitor = std::function<void(Kind kind, const char* die, uint32_t depth)>;

  // Reads the abbreviations at `offset` of .debug_abbrev for units of `encoding`.
  bool ReadAbbreviations(std::string_view debug_abbrev, uint64_t offset,
                         const UnitEncoding& encoding);

  // Visits the DIEs of code in `unit`: the bytes from the unit's first DIE to its end.
  bool Scan(std::string_view unit, const Visitor& visit) const;

 private:
  struct Abbreviation {
    bool exists = false;
    bool has_children = false;
    bool is_code = false;
    bool is_inlined_call = false;
    int32_t fixed_bytes = -1;  // of all attributes together, or -1 when it varies
    uint32_t first_form = 0;   // in forms_
    uint32_t form_count = 0;
  };

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

}  // namespace coz

#endif  // COZ_SOURCEMAP_DIE_SCANNER_H_
