#include "coz/points/function_extents.h"

#include <algorithm>
#include <map>

#include "coz/base/byte_reader.h"

namespace coz::points {
namespace {

// How the entries of a common information entry store addresses.
uint8_t ReadEncoding(ByteReader entry) {
  const auto version = entry.Read<uint8_t>();
  const std::string_view augmentation = entry.CString();
  entry.Uleb128();  // code alignment
  entry.Sleb128();  // data alignment
  if (version == 1) {
    entry.Skip(1);  // the register of the return address
  } else {
    entry.Uleb128();
  }
  if (augmentation.empty() || augmentation.front() != 'z') return kPointerAbsolute;
  entry.Uleb128();  // length of what follows
  for (const char what : augmentation.substr(1)) {
    if (what == 'R') return entry.Read<uint8_t>();
    if (what == 'L') entry.Skip(1);
    if (what == 'P') entry.Pointer(entry.Read<uint8_t>() & kPointerFormatMask, 0);
  }
  return kPointerAbsolute;
}

}  // namespace

std::vector<FunctionExtent> ReadFunctionExtents(std::string_view eh_frame, uint64_t address) {
  std::vector<FunctionExtent> extents;
  std::map<uint64_t, uint8_t> encodings;  // by the offset of the common entry
  ByteReader entries(eh_frame);
  const uint8_t* const begin = entries.at();
  const auto offset_of = [begin](const uint8_t* at) { return static_cast<uint64_t>(at - begin); };
  while (!entries.AtEnd()) {
    const uint64_t start = offset_of(entries.at());
    uint8_t offset_bytes = 0;
    const uint64_t length = entries.InitialLength(&offset_bytes);
    if (length == 0) break;
    ByteReader entry = entries.Split(length);
    const uint64_t here = offset_of(entry.at());
    const auto common = entry.Read<uint32_t>();
    if (!entry.ok() || !entries.ok()) break;
    if (common == 0) {
      encodings[start] = ReadEncoding(entry);
      continue;
    }
    const auto encoding = encodings.find(here - common);
    if (encoding == encodings.end()) continue;
    const bool is_relative = (encoding->second & kPointerRelationMask) == kPointerPcRelative;
    const uint64_t at = reinterpret_cast<uintptr_t>(begin);
    uint64_t from = entry.Pointer(encoding->second, 0);
    if (is_relative) from += address - at;
    const uint64_t bytes = entry.Pointer(encoding->second & kPointerFormatMask, 0);
    if (entry.ok() && bytes != 0 && from + bytes > from) extents.push_back({from, from + bytes});
  }
  std::sort(extents.begin(), extents.end(),
            [](const FunctionExtent& a, const FunctionExtent& b) { return a.begin < b.begin; });
  return extents;
}

}  // namespace coz::points
