#include "coz/sourcemap/dwarf/line_program.h"

#include <dwarf.h>

#include <algorithm>

namespace coz::sourcemap {

struct LineProgram::Registers {
  uint64_t address = 0;
  uint32_t file = 1;
  uint32_t line = 1;

  void Reset() { *this = Registers(); }
};

std::string CleanPath(std::string_view folder, std::string_view path) {
  std::string clean;
  const bool is_relative = path.empty() || path.front() != '/';
  const std::string_view pieces[2] = {is_relative ? folder : std::string_view(), path};
  const bool is_absolute = !is_relative || (!folder.empty() && folder.front() == '/');
  clean.reserve(pieces[0].size() + pieces[1].size() + 2);
  // Bytes at the front that ".." cannot remove: "../../" of a relative path.
  size_t fixed = 0;
  for (std::string_view piece : pieces) {
    while (!piece.empty()) {
      const std::string_view part = piece.substr(0, piece.find('/'));
      piece.remove_prefix(std::min(piece.size(), part.size() + 1));
      if (part.empty() || part == ".") continue;
      if (part == ".." && clean.size() > fixed) {
        const size_t slash = clean.rfind('/');
        clean.resize(slash == std::string::npos ? 0 : std::max(slash, fixed));
      } else if (part != ".." || !is_absolute) {
        if (is_absolute || !clean.empty()) clean += '/';
        clean += part;
        if (part == "..") fixed = clean.size();
      }
    }
  }
  return clean;
}

bool LineProgram::ReadHeader(const LineSections& sections, uint64_t offset,
                             std::string_view compilation_folder) {
  if (offset >= sections.line.size()) return false;
  ByteReader section(sections.line.substr(offset));
  reader_ = section.Split(section.InitialLength(&offset_bytes_));
  version_ = reader_.Read<uint16_t>();
  if (!section.ok() || version_ < 2 || version_ > 5) return false;
  if (version_ >= 5) reader_.Skip(2);  // sizes of addresses and of segment selectors
  ByteReader program = reader_;
  const uint64_t header_bytes = program.Unsigned(offset_bytes_);
  reader_ = program.Split(header_bytes);
  min_instruction_bytes_ = reader_.Read<uint8_t>();
  // Operations of a long instruction word: 1 on every machine but Itanium.
  if (version_ >= 4) reader_.Skip(1);
  reader_.Skip(1);  // default of is_stmt: a row counts whether or not it starts a statement
  line_base_ = static_cast<int8_t>(reader_.Read<uint8_t>());
  line_range_ = reader_.Read<uint8_t>();
  opcode_base_ = reader_.Read<uint8_t>();
  if (!reader_.ok() || line_range_ == 0 || opcode_base_ == 0) return false;
  const char* counts = reader_.position();
  reader_.Skip(opcode_base_ - 1u);
  operand_counts_ = std::string_view(counts, static_cast<size_t>(reader_.position() - counts));
  if (version_ >= 5) {
    if (!ReadNames5(sections, compilation_folder)) return false;
  } else {
    ReadNamesBefore5(compilation_folder);
  }
  if (!reader_.ok()) return false;
  reader_ = program;
  return program.ok();
}

void LineProgram::ReadNamesBefore5(std::string_view compilation_folder) {
  std::vector<std::string> folders = {std::string(compilation_folder)};
  while (reader_.ok()) {
    const std::string_view folder = reader_.CString();
    if (folder.empty()) break;
    folders.push_back(CleanPath(compilation_folder, folder));
  }
  files_.assign(1, "");
  while (reader_.ok()) {
    const std::string_view name = reader_.CString();
    if (name.empty()) break;
    const uint64_t folder = reader_.Uleb128();
    reader_.Uleb128();  // time
    reader_.Uleb128();  // size
    files_.push_back(
        CleanPath(folder < folders.size() ? folders[folder] : compilation_folder, name));
  }
}

bool LineProgram::ReadEntry5(const LineSections& sections, const std::vector<FormatEntry>& format,
                             std::string_view* path, uint64_t* folder_index) {
  for (const FormatEntry& entry : format) {
    std::string_view text;
    uint64_t number = 0;
    switch (entry.form) {
      case DW_FORM_string:
        text = reader_.CString();
        break;
      case DW_FORM_line_strp:
        text = StringAt(sections.line_str, reader_.Unsigned(offset_bytes_));
        break;
      case DW_FORM_strp:
        text = StringAt(sections.str, reader_.Unsigned(offset_bytes_));
        break;
      case DW_FORM_udata:
        number = reader_.Uleb128();
        break;
      case DW_FORM_data1:
        number = reader_.Read<uint8_t>();
        break;
      case DW_FORM_data2:
        number = reader_.Read<uint16_t>();
        break;
      case DW_FORM_data4:
        number = reader_.Read<uint32_t>();
        break;
      case DW_FORM_data8:
        number = reader_.Read<uint64_t>();
        break;
      case DW_FORM_data16:
        reader_.Skip(16);
        break;
      case DW_FORM_block:
        reader_.Skip(reader_.Uleb128());
        break;
      default:
        return false;
    }
    if (entry.content == DW_LNCT_path) *path = text;
    if (entry.content == DW_LNCT_directory_index) *folder_index = number;
  }
  return reader_.ok();
}

bool LineProgram::ReadNames5(const LineSections& sections, std::string_view compilation_folder) {
  std::vector<std::string> folders;
  // The same layout twice: first folders, then files.
  for (const bool is_file : {false, true}) {
    std::vector<FormatEntry> format(reader_.Read<uint8_t>());
    for (FormatEntry& entry : format) {
      entry.content = reader_.Uleb128();
      entry.form = reader_.Uleb128();
    }
    const uint64_t count = reader_.Uleb128();
    // Each entry takes a byte at least, so that a damaged count ends with the bytes.
    if (!reader_.ok() || count > reader_.left() || (format.empty() && count > 0)) return false;
    for (uint64_t i = 0; i < count; ++i) {
      std::string_view path;
      uint64_t folder = 0;
      if (!ReadEntry5(sections, format, &path, &folder)) return false;
      if (is_file) {
        files_.push_back(
            CleanPath(folder < folders.size() ? folders[folder] : compilation_folder, path));
      } else {
        // Folder 0 is the compilation folder; the others may be relative to it.
        folders.push_back(CleanPath(i == 0 ? compilation_folder : folders[0], path));
      }
    }
  }
  return true;
}

void LineProgram::ReadExtended(Registers* registers, std::vector<LineRow>* rows) {
  ByteReader operands = reader_.Split(reader_.Uleb128());
  if (operands.AtEnd()) return;
  switch (operands.Read<uint8_t>()) {
    case DW_LNE_end_sequence:
      rows->push_back({registers->address, 0, 0, true});
      registers->Reset();
      break;
    case DW_LNE_set_address:
      registers->address = operands.Unsigned(std::min<size_t>(operands.left(), 8));
      break;
    case DW_LNE_define_file: {
      const std::string_view name = operands.CString();
      if (operands.ok()) files_.push_back(CleanPath("", name));
      break;
    }
    default:  // discriminators and vendors' extensions carry no line
      break;
  }
}

void LineProgram::ReadStandard(uint8_t opcode, Registers* registers, std::vector<LineRow>* rows) {
  switch (opcode) {
    case DW_LNS_copy:
      rows->push_back({registers->address, registers->file, registers->line, false});
      break;
    case DW_LNS_advance_pc:
      registers->address += reader_.Uleb128() * min_instruction_bytes_;
      break;
    case DW_LNS_advance_line:
      registers->line += static_cast<uint32_t>(reader_.Sleb128());
      break;
    case DW_LNS_set_file:
      registers->file = static_cast<uint32_t>(reader_.Uleb128());
      break;
    case DW_LNS_const_add_pc:
      registers->address += uint64_t{(255u - opcode_base_) / line_range_} * min_instruction_bytes_;
      break;
    case DW_LNS_fixed_advance_pc:
      registers->address += reader_.Read<uint16_t>();
      break;
    default:  // column, flags, or unknown: skip as many operands as the header says
      for (char count = operand_counts_[opcode - 1u]; count > 0; --count) reader_.Uleb128();
      break;
  }
}

bool LineProgram::ReadRows(std::vector<LineRow>* rows) {
  Registers registers;
  while (!reader_.AtEnd()) {
    const uint8_t opcode = reader_.Read<uint8_t>();
    if (opcode >= opcode_base_) {
      const unsigned adjusted = opcode - opcode_base_;
      registers.address += uint64_t{adjusted / line_range_} * min_instruction_bytes_;
      registers.line +=
          static_cast<uint32_t>(line_base_ + static_cast<int>(adjusted % line_range_));
      rows->push_back({registers.address, registers.file, registers.line, false});
    } else if (opcode == 0) {
      ReadExtended(&registers, rows);
    } else {
      ReadStandard(opcode, &registers, rows);
    }
  }
  return reader_.ok();
}

}  // namespace coz::sourcemap
