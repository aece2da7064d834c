#include "coz/sourcemap/testing/line_oracle.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "coz/sourcemap/dwarf/line_program.h"

namespace coz::sourcemap {
namespace {

std::string ReadLine(FILE* stream) {
  std::string line;
  for (int c = std::fgetc(stream); c != EOF && c != '\n'; c = std::fgetc(stream)) {
    line += static_cast<char>(c);
  }
  return line;
}

// "/a/b.cc:12", "/a/b.cc:12:34" with a column, or "/a/b.cc:12 (discriminator 3)".
void ParsePosition(std::string text, OracleFrame* frame) {
  text = text.substr(0, text.find(" (discriminator"));
  const size_t last = text.rfind(':');
  const size_t before = last == std::string::npos || last == 0 ? last : text.rfind(':', last - 1);
  const size_t colon = before == std::string::npos ? last : before;
  if (colon == std::string::npos) return;
  frame->file = text.substr(0, colon);
  if (frame->file != "??") frame->file = CleanPath("", frame->file);
  frame->line = static_cast<uint32_t>(std::strtoul(&text[colon + 1], nullptr, 10));
}

}  // namespace

std::vector<std::vector<OracleFrame>> AskOracle(const std::string& tool, const std::string& path,
                                                const std::vector<uint64_t>& addresses) {
  const char* folder = std::getenv("TEST_TMPDIR");
  std::string name = std::string(folder == nullptr ? "/tmp" : folder) + "/addresses.XXXXXX";
  const int fd = mkstemp(name.data());
  if (fd < 0) return {};
  close(fd);
  {
    std::ofstream list(name);
    for (const uint64_t address : addresses) list << std::hex << "0x" << address << "\n";
  }
  const std::string command =
      tool + " --addresses --inlines --functions -e '" + path + "' <" + name;
  FILE* stream = popen(command.c_str(), "r");
  std::vector<std::vector<OracleFrame>> answers;
  while (stream != nullptr && std::feof(stream) == 0) {
    const std::string first = ReadLine(stream);
    if (first.empty()) break;
    if (first.compare(0, 2, "0x") == 0) {
      answers.emplace_back();
      continue;
    }
    OracleFrame frame = {};
    frame.function = first;
    ParsePosition(ReadLine(stream), &frame);
    if (!answers.empty()) answers.back().push_back(frame);
  }
  if (stream != nullptr) pclose(stream);
  unlink(name.c_str());
  return answers;
}

}  // namespace coz::sourcemap
