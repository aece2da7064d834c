#include "coz/sourcemap/testing/fixture_files.h"

#include <stdlib.h>

#include <fstream>
#include <iterator>

namespace coz::sourcemap {

std::string FixturePath(const std::string& name) {
  return "coz/sourcemap/testdata/" + name + "/fixture";
}

uint32_t MarkedLine(const std::string& source, const std::string& mark) {
  std::ifstream file("coz/sourcemap/testdata/" + source);
  std::string text;
  for (uint32_t line = 1; std::getline(file, text); ++line) {
    const size_t found = text.find("MARK:" + mark);
    if (found != std::string::npos && found + 5 + mark.size() == text.size()) return line;
  }
  return 0;
}

std::string AbsolutePath(const std::string& path) {
  char* absolute = realpath(path.c_str(), nullptr);
  std::string result = absolute == nullptr ? "" : absolute;
  free(absolute);
  return result;
}

std::string ReadFileBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void WriteFileBytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

std::string NewTestFolder() {
  const char* parent = getenv("TEST_TMPDIR");
  std::string name = std::string(parent == nullptr ? "/tmp" : parent) + "/folder.XXXXXX";
  return mkdtemp(name.data()) == nullptr ? "" : name;
}

}  // namespace coz::sourcemap
