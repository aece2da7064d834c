#include "coz/sourcemap/dwarf/die_scanner.h"

#include <dwarf.h>

namespace coz::sourcemap {
namespace {

// Compilers number abbreviations from 1 without gaps; a table that does not is damaged or hostile.
constexpr uint64_t kMaxAbbreviationCode = 1 << 20;

}  // namespace

int32_t DieScanner::FixedBytes(uint64_t form) const {
  switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
      return 0;
    case DW_FORM_data1:
    case DW_FORM_ref1:
    case DW_FORM_flag:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
      return 1;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
      return 2;
    case DW_FORM_strx3:
    case DW_FORM_addrx3:
      return 3;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
    case DW_FORM_ref_sup4:
      return 4;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8:
      return 8;
    case DW_FORM_data16:
      return 16;
    case DW_FORM_addr:
      return encoding_.address_bytes;
    case DW_FORM_ref_addr:
      return encoding_.version <= 2 ? encoding_.address_bytes : encoding_.offset_bytes;
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_sec_offset:
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
      return encoding_.offset_bytes;
    default:
      return -1;
  }
}

bool DieScanner::SkipForm(uint64_t form, ByteReader* reader) const {
  const int32_t fixed = FixedBytes(form);
  if (fixed >= 0) {
    reader->Skip(static_cast<uint64_t>(fixed));
    return true;
  }
  switch (form) {
    case DW_FORM_udata:
    case DW_FORM_sdata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_str_index:
    case DW_FORM_GNU_addr_index:
      reader->Uleb128();
      return true;
    case DW_FORM_string:
      reader->CString();
      return true;
    case DW_FORM_block1:
      reader->Skip(reader->Read<uint8_t>());
      return true;
    case DW_FORM_block2:
      reader->Skip(reader->Read<uint16_t>());
      return true;
    case DW_FORM_block4:
      reader->Skip(reader->Read<uint32_t>());
      return true;
    case DW_FORM_block:
    case DW_FORM_exprloc:
      reader->Skip(reader->Uleb128());
      return true;
    case DW_FORM_indirect: {
      const uint64_t actual = reader->Uleb128();
      return actual != DW_FORM_indirect && SkipForm(actual, reader);
    }
    default:
      return false;
  }
}

DieScanner::Kind DieScanner::KindOf(uint64_t tag, bool has_children, bool has_addresses,
                                    bool has_local_name) {
  Kind kind;
  kind.is_inlined_call = tag == DW_TAG_inlined_subroutine;
  kind.is_code = has_addresses && (tag == DW_TAG_subprogram || kind.is_inlined_call);
  kind.is_local_name = has_local_name && tag == DW_TAG_subprogram;
  switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_subprogram:
      kind.is_scope = has_children;
      break;
    default:
      break;
  }
  return kind;
}

bool DieScanner::ReadAbbreviation(ByteReader* reader, Abbreviation* abbreviation) {
  const uint64_t tag = reader->Uleb128();
  abbreviation->exists = true;
  abbreviation->has_children = reader->Read<uint8_t>() != 0;
  abbreviation->first_form = static_cast<uint32_t>(forms_.size());
  bool has_addresses = false;
  bool has_name = false;
  bool has_linkage_name = false;
  int32_t fixed_bytes = 0;
  while (reader->ok()) {
    const uint64_t attribute = reader->Uleb128();
    const uint64_t form = reader->Uleb128();
    if (form == DW_FORM_implicit_const) reader->Sleb128();
    if (attribute == 0 && form == 0) break;
    if (form > UINT16_MAX) return false;
    has_addresses |= attribute == DW_AT_low_pc || attribute == DW_AT_ranges;
    has_name |= attribute == DW_AT_name;
    has_linkage_name |= attribute == DW_AT_linkage_name || attribute == DW_AT_MIPS_linkage_name;
    const int32_t bytes = FixedBytes(form);
    fixed_bytes = bytes < 0 || fixed_bytes < 0 ? -1 : fixed_bytes + bytes;
    forms_.push_back(static_cast<uint16_t>(form));
  }
  abbreviation->form_count = static_cast<uint32_t>(forms_.size()) - abbreviation->first_form;
  abbreviation->fixed_bytes = fixed_bytes;
  abbreviation->kind =
      KindOf(tag, abbreviation->has_children, has_addresses, has_name && !has_linkage_name);
  abbreviation->is_visited =
      abbreviation->kind.is_code || abbreviation->kind.is_scope || abbreviation->kind.is_local_name;
  return reader->ok();
}

bool DieScanner::ReadAbbreviations(std::string_view debug_abbrev, uint64_t offset,
                                   const UnitEncoding& encoding) {
  encoding_ = encoding;
  abbreviations_.clear();
  forms_.clear();
  if (offset >= debug_abbrev.size()) return false;
  ByteReader reader(debug_abbrev.substr(offset));
  for (uint64_t code = reader.Uleb128(); code != 0; code = reader.Uleb128()) {
    if (code > kMaxAbbreviationCode) return false;
    if (code >= abbreviations_.size()) abbreviations_.resize(code + 1);
    if (!ReadAbbreviation(&reader, &abbreviations_[code])) return false;
  }
  return reader.ok();
}

const DieScanner::Abbreviation* DieScanner::Find(uint64_t code) const {
  return code < abbreviations_.size() && abbreviations_[code].exists ? &abbreviations_[code]
                                                                     : nullptr;
}

bool DieScanner::SkipAttributes(const Abbreviation& abbreviation, ByteReader* reader) const {
  if (abbreviation.fixed_bytes >= 0) {
    reader->Skip(static_cast<uint64_t>(abbreviation.fixed_bytes));
    return true;
  }
  const uint32_t end = abbreviation.first_form + abbreviation.form_count;
  for (uint32_t i = abbreviation.first_form; i < end; ++i) {
    if (!SkipForm(forms_[i], reader)) return false;
  }
  return true;
}

bool DieScanner::Scan(std::string_view unit, const Visitor& visit) const {
  ByteReader reader(unit);
  uint32_t depth = 0;
  while (!reader.AtEnd()) {
    const char* die = reader.position();
    const uint64_t code = reader.Uleb128();
    if (code == 0) {
      // Padding behind the unit's own DIE ends the unit too.
      if (depth <= 1) return reader.ok();
      --depth;
      continue;
    }
    const Abbreviation* abbreviation = Find(code);
    if (abbreviation == nullptr) return false;
    if (abbreviation->is_visited) visit(abbreviation->kind, die, depth);
    if (!SkipAttributes(*abbreviation, &reader)) return false;
    if (abbreviation->has_children) ++depth;
  }
  return reader.ok();
}

}  // namespace coz::sourcemap
