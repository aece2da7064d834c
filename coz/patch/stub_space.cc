#include "coz/patch/stub_space.h"

#include <algorithm>
#include <limits>

#include "coz/patch/code_patch.h"

namespace coz::patch {
namespace {

// Below lies what the kernel does not let programs map.
constexpr uint64_t kLowest = uint64_t{1} << 16;
constexpr uint64_t kHighest = (uint64_t{1} << 47) - kPageBytes;
// The program's heap grows upwards from a mapping, the stack downwards to one. Stubs lie below what
// they serve where they can, and never this close above or below a mapping that may grow. Stubs of
// an earlier session do not: else a handful of them takes all places that some jumps can reach.
constexpr uint64_t kMargin = uint64_t{1} << 20;
constexpr uint32_t kHighestByte = 0xff000000;
// Less than a jump has, since operands of displaced instructions have to reach what they name.
constexpr int64_t kReach = std::numeric_limits<int32_t>::max() - (int64_t{1} << 29);
// A given highest byte leaves no choice. It is an int3 (-0.9 GB), or the displaced instructions
// together are shorter than a jump and name nothing that is far from them.
constexpr int64_t kReachOfGiven = std::numeric_limits<int32_t>::max() - (int64_t{1} << 16);

int64_t ReachOf(const GivenBytes& given) {
  return (given.mask & kHighestByte) != 0 ? kReachOfGiven : kReach;
}

// The lowest distance from `from` on that has the given bytes, within the same sign.
std::optional<int64_t> NextWith(int64_t from, const GivenBytes& given) {
  const bool is_negative = from < 0;
  auto value = static_cast<uint32_t>(static_cast<int32_t>(from));
  for (int byte = 3; byte >= 0; --byte) {
    const int shift = 8 * byte;
    if ((given.mask >> shift & 0xff) == 0) continue;
    const uint32_t digit = value >> shift & 0xff;
    const uint32_t wanted = given.value >> shift & 0xff;
    const uint32_t below = (uint32_t{1} << shift) - 1;
    if (digit == wanted) continue;
    uint64_t raised = value & ~(uint64_t{0xff} << shift) & ~uint64_t{below};
    if (digit > wanted) raised += uint64_t{0x100} << shift;
    raised |= uint64_t{wanted} << shift;
    if (raised > 0xffffffff) return std::nullopt;
    value = static_cast<uint32_t>(raised);
    if (digit > wanted) byte = 4;  // a carry may have changed the bytes above
  }
  const int64_t found = static_cast<int32_t>(value);
  if ((found < 0) != is_negative) return std::nullopt;
  return found;
}

}  // namespace

void StubSpace::SetMapped(std::vector<AddressRange> mapped) {
  std::sort(mapped.begin(), mapped.end(),
            [](const AddressRange& a, const AddressRange& b) { return a.begin < b.begin; });
  gaps_.clear();
  uint64_t begin = kLowest;
  for (const AddressRange& range : mapped) {
    if (IsOfStubs(range)) continue;  // the process has mapped them by now
    const uint64_t margin = range.may_grow ? kMargin : 0;
    if (range.begin > begin + margin) gaps_.push_back({begin, range.begin - margin});
    begin = std::max(begin, range.end + margin);
  }
  if (begin < kHighest) gaps_.push_back({begin, kHighest});
}

bool StubSpace::IsOfStubs(const AddressRange& range) const {
  for (uint64_t page = range.begin; page < range.end; page += kPageBytes) {
    if (pages_.count(page) == 0) return false;
  }
  return true;
}

// Where the last stub ends that overlaps; 0: none does.
uint64_t StubSpace::EndOfTaken(uint64_t begin, uint64_t end) const {
  const auto after = taken_.lower_bound(end);
  if (after == taken_.begin() || std::prev(after)->second <= begin) return 0;
  return std::prev(after)->second;
}

void StubSpace::Occupy(uint64_t begin, uint64_t end) {
  taken_[begin] = end;
  for (uint64_t page = begin & ~(kPageBytes - 1); page < end; page += kPageBytes) {
    pages_.insert(page);
  }
}

std::optional<uint64_t> StubSpace::FindInGap(const AddressRange& gap, uint64_t address,
                                             size_t bytes, const GivenBytes& given) const {
  const auto origin = static_cast<int64_t>(address + kJumpBytes);
  const int64_t reach = ReachOf(given);
  const int64_t first = std::max(static_cast<int64_t>(gap.begin) - origin, -reach);
  const int64_t last = std::min(static_cast<int64_t>(gap.end - bytes) - origin, reach);
  int64_t from = first;
  while (from <= last) {
    const std::optional<int64_t> distance = NextWith(from, given);
    if (!distance.has_value()) {
      if (from >= 0) return std::nullopt;
      from = 0;
      continue;
    }
    if (*distance > last) return std::nullopt;
    const auto stub = static_cast<uint64_t>(origin + *distance);
    const uint64_t taken_until = EndOfTaken(stub, stub + bytes);
    if (taken_until == 0) return stub;
    from = static_cast<int64_t>(taken_until) - origin;
  }
  return std::nullopt;
}

// Of stubs, and not mapped by the process for anything else.
bool StubSpace::IsFree(uint64_t page) const {
  return std::any_of(gaps_.begin(), gaps_.end(), [page](const AddressRange& gap) {
    return gap.begin <= page && page + kPageBytes <= gap.end;
  });
}

// Where the highest byte is given, 16 MiB are in reach, and places share the stub pages there.
std::optional<uint64_t> StubSpace::FindOnStubPage(uint64_t address, size_t bytes,
                                                  const GivenBytes& given) const {
  if ((given.mask & kHighestByte) == 0) return std::nullopt;
  const auto lowest = static_cast<int32_t>(given.value & kHighestByte);
  const uint64_t begin = address + kJumpBytes + static_cast<uint64_t>(int64_t{lowest});
  for (auto page = pages_.lower_bound(begin & ~(kPageBytes - 1));
       page != pages_.end() && *page <= begin + ~kHighestByte; ++page) {
    if (!IsFree(*page)) continue;
    const auto stub = FindInGap({*page, *page + kPageBytes}, address, bytes, given);
    if (stub.has_value()) return stub;
  }
  return std::nullopt;
}

std::optional<uint64_t> StubSpace::FindInAnyGap(uint64_t address, size_t bytes,
                                                const GivenBytes& given) const {
  // In the gap below the code first, as high as it goes: there nothing of the program grows.
  std::vector<AddressRange> order;
  for (auto gap = gaps_.rbegin(); gap != gaps_.rend(); ++gap) {
    if (gap->begin < address) order.push_back(*gap);
  }
  for (const AddressRange& gap : gaps_) {
    if (gap.begin >= address) order.push_back(gap);
  }
  for (AddressRange gap : order) {
    // Only a given highest byte asks for an address far from the code.
    constexpr uint64_t kNear = uint64_t{64} << 20;
    if ((given.mask & kHighestByte) == 0 && gap.end <= address && gap.end - gap.begin > kNear) {
      gap.begin = gap.end - kNear;
    }
    const std::optional<uint64_t> stub = FindInGap(gap, address, bytes, given);
    if (stub.has_value()) return stub;
  }
  return std::nullopt;
}

std::optional<uint64_t> StubSpace::Take(uint64_t address, size_t bytes, const GivenBytes& given) {
  std::optional<uint64_t> stub = FindOnStubPage(address, bytes, given);
  if (!stub.has_value()) stub = FindInAnyGap(address, bytes, given);
  if (stub.has_value()) Occupy(*stub, *stub + bytes);
  return stub;
}

}  // namespace coz::patch
