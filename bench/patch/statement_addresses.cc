#include "bench/patch/statement_addresses.h"

#include <elfutils/libdw.h>
#include <fcntl.h>

#include <cstddef>
#include <set>

#include "absl/strings/str_cat.h"
#include "coz/base/unique_fd.h"

namespace coz::bench {
namespace {

void AddUnit(Dwarf_Die* unit, std::set<uint64_t>* addresses) {
  Dwarf_Lines* lines = nullptr;
  size_t count = 0;
  if (dwarf_getsrclines(unit, &lines, &count) != 0) return;
  for (size_t i = 0; i < count; ++i) {
    Dwarf_Line* const line = dwarf_onesrcline(lines, i);
    bool begins = false;
    bool ends = false;
    int number = 0;
    Dwarf_Addr address = 0;
    if (dwarf_linebeginstatement(line, &begins) == 0 && dwarf_lineendsequence(line, &ends) == 0 &&
        dwarf_lineno(line, &number) == 0 && dwarf_lineaddr(line, &address) == 0 && begins &&
        !ends && number != 0) {
      addresses->insert(address);
    }
  }
}

}  // namespace

absl::StatusOr<std::vector<uint64_t>> StatementAddresses(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.ok()) return absl::NotFoundError(absl::StrCat("cannot open ", path));
  Dwarf* const dwarf = dwarf_begin(fd.get(), DWARF_C_READ);
  std::set<uint64_t> addresses;
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  while (dwarf != nullptr &&
         dwarf_get_units(dwarf, unit, &unit, nullptr, nullptr, &die, nullptr) == 0) {
    AddUnit(&die, &addresses);
  }
  dwarf_end(dwarf);
  if (addresses.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(path, " has no line tables; build it with -g"));
  }
  return std::vector<uint64_t>(addresses.begin(), addresses.end());
}

}  // namespace coz::bench
