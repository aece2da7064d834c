// The work is in a library that is opened while the program runs.
#include <dlfcn.h>

#include <cstdio>
#include <string>

#include "bench/accuracy/workload.h"

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t filter = program.Steps("filter", 700);
  const uint64_t load = program.Steps("load", 300);
  workload::UseCpu(0);
  // The library lies beside the program itself.
  const std::string own(argv[0]);
  const std::string path = own.substr(0, own.rfind('/') + 1) + "libplugin.so";
  void* const library = dlopen(path.c_str(), RTLD_NOW);
  if (library == nullptr) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  using Filter = uint64_t (*)(uint64_t, uint64_t);
  const auto apply = reinterpret_cast<Filter>(dlsym(library, "ApplyFilter"));
  program.Start();
  uint64_t x = 1;
  while (program.Running()) {
    WORK(x, load);  // LINE(load)
    x = apply(x, filter);
    VISIT("images");
  }
  workload::Keep(x);
  return program.Finish();
}
