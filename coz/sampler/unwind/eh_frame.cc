#include "coz/sampler/unwind/eh_frame.h"

#include "coz/base/byte_reader.h"

namespace coz::sampler {
namespace {

constexpr uint64_t kReturnAddressColumn = 16;

struct Cie {
  FrameDescription description;
  bool has_augmentation_data = false;
};

uint64_t AddressOf(const uint8_t* bytes) { return reinterpret_cast<uintptr_t>(bytes); }

bool IsInside(const EhFrameSection& section, uint64_t address) {
  return address >= AddressOf(section.begin) && address < AddressOf(section.end);
}

// Consumes an entry's length; the reader that is returned covers the rest of the entry.
ByteReader ReadEntry(const EhFrameSection& section, uint64_t address) {
  ByteReader reader(reinterpret_cast<const uint8_t*>(address), section.end);
  uint64_t length = reader.Read<uint32_t>();
  if (length == 0xffffffff) length = reader.Read<uint64_t>();
  return reader.Split(length);
}

// The letters after 'z' say what the augmentation data hold, in order.
bool ReadAugmentation(const char* letters, ByteReader* reader, Cie* cie) {
  if (*letters == '\0') return true;
  if (*letters++ != 'z') return false;
  cie->has_augmentation_data = true;
  ByteReader data = reader->Split(reader->Uleb128());
  for (; *letters != '\0' && data.ok(); ++letters) {
    switch (*letters) {
      case 'R':
        cie->description.pointer_encoding = data.Read<uint8_t>();
        break;
      case 'P': {
        const uint8_t encoding = data.Read<uint8_t>();
        data.Pointer(encoding, 0);  // the personality routine concerns exceptions only
        break;
      }
      case 'L':
        data.Read<uint8_t>();
        break;
      case 'S':
        cie->description.is_signal_frame = true;
        break;
      default:
        // Unknown data, whose size is unknown too: nothing after it can be told.
        return false;
    }
  }
  return data.ok();
}

bool ReadCie(const EhFrameSection& section, uint64_t address, Cie* cie) {
  ByteReader reader = ReadEntry(section, address);
  const uint32_t id = reader.Read<uint32_t>();
  const uint8_t version = reader.Read<uint8_t>();
  if (!reader.ok() || id != 0 || (version != 1 && version != 3)) return false;
  const char* letters = reinterpret_cast<const char*>(reader.at());
  while (reader.ok() && reader.Read<uint8_t>() != 0) {
  }
  cie->description.code_alignment = reader.Uleb128();
  cie->description.data_alignment = reader.Sleb128();
  const uint64_t column = version == 1 ? reader.Read<uint8_t>() : reader.Uleb128();
  if (!reader.ok() || column != kReturnAddressColumn) return false;
  if (!ReadAugmentation(letters, &reader, cie) || !reader.ok()) return false;
  cie->description.initial_instructions = reader.at();
  cie->description.initial_instructions_end = reader.end();
  return true;
}

FindResult ReadFde(const EhFrameSection& section, uint64_t fde, uint64_t address,
                   FrameDescription* description) {
  ByteReader reader = ReadEntry(section, fde);
  const uint64_t cie_field = AddressOf(reader.at());
  const uint32_t cie_distance = reader.Read<uint32_t>();
  Cie cie;
  if (!reader.ok() || cie_distance == 0 || !IsInside(section, cie_field - cie_distance) ||
      !ReadCie(section, cie_field - cie_distance, &cie)) {
    return FindResult::kMalformed;
  }
  const uint8_t encoding = cie.description.pointer_encoding;
  if ((encoding & kPointerIndirect) != 0) return FindResult::kMalformed;
  cie.description.begin = reader.Pointer(encoding, AddressOf(section.header));
  cie.description.end = cie.description.begin + reader.Pointer(encoding & kPointerFormatMask, 0);
  if (cie.has_augmentation_data) reader.Skip(reader.Uleb128());
  if (!reader.ok()) return FindResult::kMalformed;
  cie.description.instructions = reader.at();
  cie.description.instructions_end = reader.end();
  if (address < cie.description.begin || address >= cie.description.end) return FindResult::kNone;
  *description = cie.description;
  return FindResult::kFound;
}

// A row of the sorted table; both numbers are relative to .eh_frame_hdr.
struct TableRow {
  int32_t code;
  int32_t fde;
};

TableRow RowAt(const uint8_t* table, uint64_t index) {
  TableRow row;
  memcpy(&row, table + index * sizeof(row), sizeof(row));
  return row;
}

}  // namespace

FindResult FindFrameDescription(const EhFrameSection& section, uint64_t address,
                                FrameDescription* description) {
  if (!IsInside(section, AddressOf(section.header))) return FindResult::kMalformed;
  const uint64_t base = AddressOf(section.header);
  ByteReader reader(section.header, section.end);
  const uint8_t version = reader.Read<uint8_t>();
  const uint8_t frame_encoding = reader.Read<uint8_t>();
  const uint8_t count_encoding = reader.Read<uint8_t>();
  const uint8_t table_encoding = reader.Read<uint8_t>();
  reader.Pointer(frame_encoding, base);
  const uint64_t count = reader.Pointer(count_encoding, base);
  // Every linker of the last decade writes the table like this.
  if (!reader.ok() || version != 1 || table_encoding != (kPointerDataRelative | kPointerS32) ||
      count > static_cast<uint64_t>(section.end - reader.at()) / sizeof(TableRow)) {
    return FindResult::kMalformed;
  }
  uint64_t low = 0;  // rows before `low` begin at or before the address, rows from `high` after it
  uint64_t high = count;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (base + static_cast<uint64_t>(int64_t{RowAt(reader.at(), middle).code}) <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 0) return FindResult::kNone;
  const uint64_t fde = base + static_cast<uint64_t>(int64_t{RowAt(reader.at(), low - 1).fde});
  if (!IsInside(section, fde)) return FindResult::kMalformed;
  return ReadFde(section, fde, address, description);
}

}  // namespace coz::sampler
