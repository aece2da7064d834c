#include "bench/patch/loaded_library.h"

#include <link.h>

#include <string_view>

namespace coz::bench {
namespace {

struct Search {
  std::string_view name;
  std::string path;
};

int Look(dl_phdr_info* info, size_t, void* opaque) {
  auto* search = static_cast<Search*>(opaque);
  const std::string_view path = info->dlpi_name;
  if (path.size() < search->name.size() ||
      path.substr(path.size() - search->name.size()) != search->name) {
    return 0;
  }
  search->path = path;
  return 1;
}

}  // namespace

std::string LoadedLibrary(const std::string& name) {
  Search search = {name, ""};
  dl_iterate_phdr(Look, &search);
  return search.path;
}

}  // namespace coz::bench
