#include "bench/patch/mapped_here.h"

#include <fstream>
#include <ios>
#include <sstream>
#include <string>

namespace coz::bench {

std::vector<patch::AddressRange> MappedHere() {
  std::vector<patch::AddressRange> mapped;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    patch::AddressRange range = {};
    char dash = 0;
    fields >> std::hex >> range.begin >> dash >> range.end;
    mapped.push_back(range);
  }
  return mapped;
}

}  // namespace coz::bench
