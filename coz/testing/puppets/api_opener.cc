// Opens a library, calls a function of it by the address that dlsym gives, and closes it, twice.
//
//   api_opener LIBRARY CALLS
//
// Before its calls it waits until the function's code is changed, behind endbr64 or not. Ends with
// 2 where that does not happen within 20 s.
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

#include <cstdint>

namespace {

using Plain = uint64_t (*)(uint64_t);

bool IsChanged(Plain function) {
  const auto* code = reinterpret_cast<const volatile unsigned char*>(function);
  const unsigned char first = *code == 0xf3 ? code[4] : *code;
  return first == 0xe9 || first == 0xcc;
}

// Runs meanwhile, for code is changed with a sample.
bool AwaitChange(Plain function) {
  const time_t deadline = time(nullptr) + 20;
  while (!IsChanged(function)) {
    if (time(nullptr) > deadline) return false;
  }
  return true;
}

int CallIn(const char* path, uint64_t calls) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return 1;
  const auto plain = reinterpret_cast<Plain>(dlsym(library, "ApiPlain"));
  if (plain == nullptr || !AwaitChange(plain)) return 2;
  volatile uint64_t sum = 0;
  for (uint64_t i = 0; i < calls; ++i) sum = sum + plain(i);
  return dlclose(library);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 1;
  const uint64_t calls = strtoul(argv[2], nullptr, 10);
  const int first = CallIn(argv[1], calls);
  return first != 0 ? first : CallIn(argv[1], calls);
}
