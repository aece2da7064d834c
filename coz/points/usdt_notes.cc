#include "coz/points/usdt_notes.h"

#include "coz/base/byte_reader.h"

namespace coz::points {
namespace {

constexpr uint32_t kUsdtNote = 3;
constexpr uint64_t kNoteAlignment = 4;

uint64_t Padding(uint64_t bytes) {
  return (kNoteAlignment - bytes % kNoteAlignment) % kNoteAlignment;
}

std::optional<UsdtPlace> ReadDescription(ByteReader description, std::optional<uint64_t> base) {
  UsdtPlace place;
  place.address = description.Read<uint64_t>();
  const uint64_t base_when_linked = description.Read<uint64_t>();
  place.semaphore = description.Read<uint64_t>();
  place.provider = description.CString();
  place.name = description.CString();
  if (!description.ok() || place.provider.empty() || place.name.empty()) return std::nullopt;
  const uint64_t moved = base.has_value() ? *base - base_when_linked : 0;
  place.address += moved;
  if (place.semaphore != 0) place.semaphore += moved;
  return place;
}

}  // namespace

std::vector<UsdtPlace> ReadUsdtNotes(std::string_view section, std::optional<uint64_t> base) {
  std::vector<UsdtPlace> places;
  ByteReader notes(section);
  while (!notes.AtEnd()) {
    const uint64_t owner_bytes = notes.Read<uint32_t>();
    const uint64_t description_bytes = notes.Read<uint32_t>();
    const auto type = notes.Read<uint32_t>();
    ByteReader owner = notes.Split(owner_bytes);
    notes.Skip(Padding(owner_bytes));
    const ByteReader description = notes.Split(description_bytes);
    if (!notes.ok()) break;
    // The last one may end with the section.
    if (!notes.AtEnd()) notes.Skip(Padding(description_bytes));
    if (type != kUsdtNote || owner.CString() != "stapsdt") continue;
    const std::optional<UsdtPlace> place = ReadDescription(description, base);
    if (place.has_value()) places.push_back(*place);
  }
  return places;
}

}  // namespace coz::points
