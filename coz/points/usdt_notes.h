// The probes that a program's author has put into its source (USDT, <sys/sdt.h>): a `nop` in the
// code, and a note that tells where it is.
//
// Shape    the bytes of a section .note.stapsdt. One probe may have several places. Notes of other
//          kinds and damaged ones are left out
// Units    ELF addresses
// Errors   none: what cannot be read ends the list
// Threads  safe
// Signals  not safe
// Source   https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation
#ifndef COZ_POINTS_USDT_NOTES_H_
#define COZ_POINTS_USDT_NOTES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coz::points {

struct UsdtPlace {
  std::string provider;
  std::string name;
  uint64_t address;
  uint64_t semaphore;  // a 16-bit word that is not 0 while somebody counts; 0: there is none
};

// `base`: where the section .stapsdt.base lies now, if there is one. Notes hold where it lay when
// the program was linked: tools that move code (prelink) do not change notes.
std::vector<UsdtPlace> ReadUsdtNotes(std::string_view section, std::optional<uint64_t> base);

}  // namespace coz::points

#endif  // COZ_POINTS_USDT_NOTES_H_
