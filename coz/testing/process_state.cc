#include "coz/testing/process_state.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "coz/attach/process_view.h"
#include "coz/base/unique_fd.h"
#include "gtest/gtest.h"

namespace coz::testing {
namespace {

std::string NameOf(const std::string& file) { return file.substr(file.rfind('/') + 1); }

std::string ReadAt(const std::string& file, uint64_t offset, uint64_t bytes) {
  const UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  std::string read(bytes, '\0');
  const ssize_t got = pread(fd.get(), read.data(), bytes, static_cast<off_t>(offset));
  read.resize(got < 0 ? 0 : static_cast<size_t>(got));
  return read;
}

std::string MemoryOf(pid_t pid) { return absl::StrCat("/proc/", pid, "/mem"); }

std::vector<int> DescriptorsOf(pid_t pid) {
  std::vector<int> numbers;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(absl::StrCat("/proc/", pid, "/fd"), error)) {
    numbers.push_back(std::stoi(entry.path().filename().string()));
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

// Of all that is mapped executable.
std::string CodeState(pid_t pid, const std::string& file) {
  size_t compared = 0;
  for (const attach::Mapping& mapping : attach::ReadMappings(pid)) {
    if (!mapping.is_executable || !absl::EndsWith(mapping.path, absl::StrCat("/", NameOf(file)))) {
      continue;
    }
    const std::string code = ReadAt(MemoryOf(pid), mapping.begin, mapping.end - mapping.begin);
    const std::string in_file = ReadAt(file, mapping.file_offset, code.size());
    // The rest of the last page is the kernel's to fill.
    if (in_file.empty() || code.compare(0, in_file.size(), in_file) != 0) return "changed";
    compared += in_file.size();
  }
  return absl::StrCat(compared, " bytes as in the file");
}

}  // namespace

std::map<uint64_t, uint64_t> CallSlotsOf(pid_t pid, const std::string& file) {
  std::map<uint64_t, uint64_t> slots;
  const UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  const UniqueFd memory(open(MemoryOf(pid).c_str(), O_RDONLY | O_CLOEXEC));
  elf_version(EV_CURRENT);
  Elf* const elf = elf_begin(fd.get(), ELF_C_READ, nullptr);
  const std::vector<attach::Mapping> mappings = attach::ReadMappings(pid);
  const attach::Mapping* const first = attach::FileNamed(mappings, NameOf(file));
  if (elf == nullptr || first == nullptr) return slots;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_RELA) continue;
    Elf_Data* const data = elf_getdata(section, nullptr);
    for (size_t i = 0; i < header.sh_size / header.sh_entsize; ++i) {
      GElf_Rela entry;
      gelf_getrela(data, static_cast<int>(i), &entry);
      const auto type = GELF_R_TYPE(entry.r_info);
      if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) continue;
      const uint64_t address = first->begin + entry.r_offset;
      uint64_t value = 0;
      EXPECT_EQ(pread(memory.get(), &value, sizeof(value), static_cast<off_t>(address)),
                static_cast<ssize_t>(sizeof(value)));
      slots[address] = value;
    }
  }
  elf_end(elf);
  return slots;
}

std::map<uint64_t, uint64_t> BoundSlotsOf(pid_t pid, const std::string& file) {
  std::map<uint64_t, uint64_t> slots = CallSlotsOf(pid, file);
  const std::vector<attach::Mapping> mappings = attach::ReadMappings(pid);
  for (auto slot = slots.begin(); slot != slots.end();) {
    const attach::Mapping* const mapping = attach::MappingAt(mappings, slot->second);
    const bool unbound =
        mapping != nullptr && absl::EndsWith(mapping->path, absl::StrCat("/", NameOf(file)));
    slot = unbound ? slots.erase(slot) : std::next(slot);
  }
  return slots;
}

size_t SlotsIntoLibrary(pid_t pid, const std::map<uint64_t, uint64_t>& slots) {
  const std::vector<attach::Mapping> mappings = attach::ReadMappings(pid);
  size_t count = 0;
  for (const auto& [address, value] : slots) {
    const attach::Mapping* const mapping = attach::MappingAt(mappings, value);
    if (mapping != nullptr && absl::EndsWith(mapping->path, "/libcoz.so")) ++count;
  }
  return count;
}

size_t TimersOf(pid_t pid) {
  std::ifstream timers(absl::StrCat("/proc/", pid, "/timers"));
  std::string line;
  size_t count = 0;
  while (std::getline(timers, line)) count += absl::StartsWith(line, "ID:") ? 1 : 0;
  return count;
}

std::string StateFromOutside(pid_t pid, const std::string& file) {
  const attach::StatusFields status = attach::ReadStatus(pid);
  const auto field = [&status](const char* name) {
    const auto found = status.find(name);
    return absl::StrCat(name, " ", found == status.end() ? "?" : found->second, "\n");
  };
  const size_t wrapped = SlotsIntoLibrary(pid, CallSlotsOf(pid, file));
  return absl::StrCat(field("SigIgn"), field("SigCgt"), field("TracerPid"), "descriptors ",
                      absl::StrJoin(DescriptorsOf(pid), " "), "\ncode ", CodeState(pid, file),
                      "\nwrapped slots ", wrapped, "\ntimers ", TimersOf(pid), "\n");
}

}  // namespace coz::testing
