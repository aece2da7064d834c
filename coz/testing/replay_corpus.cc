// Gives a fuzz target each file of the folders in the command line, as a test: libFuzzer needs
// clang, this does not.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

// A heap block of the input's own size: a sanitizer sees each byte that is read beyond it.
void Run(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  auto* data = new uint8_t[bytes.size()];
  bytes.copy(reinterpret_cast<char*>(data), bytes.size());
  // Printed first: the process may end here.
  printf("%s: %zu bytes\n", path.c_str(), bytes.size());
  fflush(stdout);
  LLVMFuzzerTestOneInput(data, bytes.size());
  delete[] data;
}

}  // namespace

int main(int argc, char** argv) {
  int inputs = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      Run(entry.path());
      ++inputs;
    }
  }
  if (inputs == 0) fprintf(stderr, "replay_corpus: no input in the %d folders\n", argc - 1);
  return inputs == 0 ? 1 : 0;
}
