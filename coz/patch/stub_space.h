// Finds addresses for stubs in the unused parts of a process's address space.
//
// Shape    one process. Stubs share pages of their own; a page is never given back
// Units    runtime addresses; bytes
// Errors   nothing where no unused address fits
// Threads  compatible
// Signals  not safe
// Source   proc(5), /proc/PID/maps; the bytes of a jump as int3s: docs/design/patching.md
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

class StubSpace {
 public:
  // Everything that the process has mapped, in any order. As often as it may have changed.
  void SetMapped(std::vector<AddressRange> mapped);

  // An address for a stub of `bytes` that a jump of five bytes at `address` reaches. `traps` as in
  // TrapsInDistance. Takes it.
  std::optional<uint64_t> Take(uint64_t address, size_t bytes, uint32_t traps);

 private:
  bool IsOfStubs(const AddressRange& range) const;
  uint64_t EndOfTaken(uint64_t begin, uint64_t end) const;
  std::optional<uint64_t> TakeInGap(const AddressRange& gap, uint64_t address, size_t bytes,
                                    uint32_t traps);
  void Occupy(uint64_t begin, uint64_t end);

  std::vector<AddressRange> gaps_;      // ascending
  std::map<uint64_t, uint64_t> taken_;  // begin and end of each stub
  std::set<uint64_t> pages_;            // of stubs
};

}  // namespace coz::patch

#endif  // COZ_PATCH_STUB_SPACE_H_
