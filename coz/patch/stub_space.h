// Finds addresses for stubs in the unused parts of a process's address space.
//
// Shape    one process. Stubs have pages of their own, and share them where distances allow it; a
//          page is never given back
// Units    runtime addresses; bytes
// Errors   nothing where no unused address fits
// Threads  compatible
// Signals  not safe
// Source   proc(5), /proc/PID/maps; which bytes of a jump are given: docs/design/patching.md
#ifndef COZ_PATCH_STUB_SPACE_H_
#define COZ_PATCH_STUB_SPACE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace coz::patch {

inline constexpr uint64_t kPageBytes = 4096;

struct AddressRange {
  uint64_t begin;
  uint64_t end;
  bool may_grow = true;  // as heaps and stacks do
};

// What the four bytes of a jump's distance have to be, lowest first: 0xff in `mask` for each byte
// that is given, and that byte in `value`.
struct GivenBytes {
  uint32_t mask = 0;
  uint32_t value = 0;
};

class StubSpace {
 public:
  // Everything that the process has mapped, in any order. As often as it may have changed.
  void SetMapped(std::vector<AddressRange> mapped);

  // An address for a stub of `bytes` that a jump of five bytes at `address` reaches by a distance
  // with these bytes. Takes it.
  std::optional<uint64_t> Take(uint64_t address, size_t bytes, const GivenBytes& given);

 private:
  bool IsOfStubs(const AddressRange& range) const;
  uint64_t EndOfTaken(uint64_t begin, uint64_t end) const;
  std::optional<uint64_t> FindInGap(const AddressRange& gap, uint64_t address, size_t bytes,
                                    const GivenBytes& given) const;
  bool IsFree(uint64_t page) const;
  std::optional<uint64_t> FindOnStubPage(uint64_t address, size_t bytes,
                                         const GivenBytes& given) const;
  std::optional<uint64_t> FindInAnyGap(uint64_t address, size_t bytes,
                                       const GivenBytes& given) const;
  void Occupy(uint64_t begin, uint64_t end);

  std::vector<AddressRange> gaps_;      // ascending
  std::map<uint64_t, uint64_t> taken_;  // begin and end of each stub
  std::set<uint64_t> pages_;            // of stubs
};

}  // namespace coz::patch

#endif  // COZ_PATCH_STUB_SPACE_H_
