#include "coz/attach/process_view.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "coz/base/file_text.h"
#include "coz/base/names_in.h"
#include "coz/base/unique_fd.h"

namespace coz::attach {
namespace {

absl::string_view ToAbsl(std::string_view text) { return {text.data(), text.size()}; }

bool IsDefaultVersion(Elf_Data* versions, int index) {
  constexpr GElf_Versym kHidden = 0x8000;
  GElf_Versym version = 0;
  return versions == nullptr || gelf_getversym(versions, index, &version) == nullptr ||
         (version & kHidden) == 0;
}

void AddFunctions(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, Elf_Data* versions,
                  const std::vector<std::string>& names, std::map<std::string, uint64_t>* found) {
  Elf_Data* const data = elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return;
  const int count = static_cast<int>(header.sh_size / header.sh_entsize);
  for (int i = 0; i < count; ++i) {
    GElf_Sym symbol;
    if (gelf_getsym(data, i, &symbol) == nullptr || symbol.st_shndx == SHN_UNDEF) continue;
    const char* const name = elf_strptr(elf, header.sh_link, symbol.st_name);
    if (name == nullptr || std::count(names.begin(), names.end(), name) == 0) continue;
    if (IsDefaultVersion(versions, i)) (*found)[name] = symbol.st_value;
  }
}

std::string ReadAuxiliaryVector(pid_t pid) {
  return FileText(absl::StrFormat("/proc/%d/auxv", pid));
}

}  // namespace

ProgramImage::ProgramImage(pid_t pid)
    : pid_(pid),
      memory_(open(absl::StrFormat("/proc/%d/mem", pid).c_str(), O_RDWR | O_CLOEXEC)),
      auxiliary_vector_(ReadAuxiliaryVector(pid)) {}

// What was opened is the memory of then, which has an end at once when nobody uses it any more. A
// child of vfork execs while its parent uses it.
bool ProgramImage::IsStillThere() const {
  char byte = 0;
  const bool is_gone = memory_.ok() && pread(memory_.get(), &byte, 1, 0) == 0;
  return !is_gone && ReadAuxiliaryVector(pid_) == auxiliary_vector_;
}

// One that ends has no memory from then on. An exec gives it the new one in one step.
bool ProgramImage::HasBecomeAnother() const {
  return !IsStillThere() && ReadStatus(pid_).count("VmSize") != 0;
}

bool ProgramImage::Write(uint64_t address, const void* bytes, size_t count) const {
  errno = 0;
  return pwrite(memory_.get(), bytes, count, static_cast<off_t>(address)) ==
         static_cast<ssize_t>(count);
}

StatusFields ParseStatus(std::string_view text) {
  StatusFields fields;
  for (absl::string_view line : absl::StrSplit(ToAbsl(text), '\n')) {
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    if (field.first.size() == line.size()) continue;
    fields[std::string(field.first)] = std::string(absl::StripAsciiWhitespace(field.second));
  }
  return fields;
}

StatusFields ReadStatus(pid_t pid) {
  return ParseStatus(FileText(absl::StrFormat("/proc/%d/status", pid)));
}

StatusFields ReadThreadStatus(pid_t pid, pid_t tid) {
  return ParseStatus(FileText(absl::StrFormat("/proc/%d/task/%d/status", pid, tid)));
}

bool IsStopped(const StatusFields& status) {
  const auto state = status.find("State");
  return state != status.end() && !state->second.empty() && state->second[0] == 'T';
}

int64_t NumberIn(const StatusFields& fields, const std::string& name, int64_t otherwise) {
  const auto found = fields.find(name);
  return found == fields.end() ? otherwise : strtoll(found->second.c_str(), nullptr, 10);
}

uint64_t SignalsIn(const StatusFields& fields, const std::string& name) {
  const auto found = fields.find(name);
  return found == fields.end() ? 0 : strtoull(found->second.c_str(), nullptr, 16);
}

std::vector<pid_t> ReadThreads(pid_t pid) {
  std::vector<pid_t> threads;
  for (const std::string& name : NamesIn(absl::StrFormat("/proc/%d/task", pid))) {
    int tid = 0;
    if (absl::SimpleAtoi(name, &tid)) threads.push_back(tid);
  }
  std::sort(threads.begin(), threads.end());
  return threads;
}

SleepingCall ReadSleepingCall(pid_t pid, pid_t tid) {
  std::ifstream file(absl::StrFormat("/proc/%d/task/%d/syscall", pid, tid));
  SleepingCall call;
  file >> call.number >> std::hex;
  if (file.fail()) return SleepingCall();
  for (uint64_t& argument : call.arguments) {
    std::string word;
    if (file >> word) argument = strtoull(word.c_str(), nullptr, 16);
  }
  return call;
}

bool MayReturnAPart(const SleepingCall& call) {
  switch (call.number) {
    case SYS_write:
    case SYS_writev:
    case SYS_pwrite64:
    case SYS_pwritev:
    case SYS_pwritev2:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
    case SYS_sendfile:
    case SYS_splice:
    case SYS_tee:
    case SYS_vmsplice:
    case SYS_copy_file_range:
    case SYS_readv:
    case SYS_preadv:
    case SYS_preadv2:
    case SYS_recvmmsg:
    case SYS_getrandom:
      return true;
    case SYS_recvfrom:
      return (call.arguments[3] & MSG_WAITALL) != 0;
    case SYS_recvmsg:
      return (call.arguments[2] & MSG_WAITALL) != 0;
    default:
      return false;
  }
}

std::vector<Mapping> ParseMappings(std::string_view text) {
  std::vector<Mapping> mappings;
  for (absl::string_view line : absl::StrSplit(ToAbsl(text), '\n')) {
    unsigned long long begin = 0;
    unsigned long long end = 0;
    unsigned long long offset = 0;
    unsigned long long inode = 0;
    char permissions[5] = "";
    int path_at = 0;
    const std::string copy(line);
    if (sscanf(copy.c_str(), "%llx-%llx %4s %llx %*s %llu %n", &begin, &end, permissions, &offset,
               &inode, &path_at) != 5) {
      continue;
    }
    mappings.push_back({begin, end, permissions[2] == 'x', permissions[1] == 'w', offset, inode,
                        path_at == 0 ? "" : copy.substr(static_cast<size_t>(path_at))});
  }
  return mappings;
}

std::vector<Mapping> ReadMappings(pid_t pid) {
  return ParseMappings(FileText(absl::StrFormat("/proc/%d/maps", pid)));
}

const Mapping* MappingAt(const std::vector<Mapping>& mappings, uint64_t address) {
  const auto found = std::find_if(mappings.begin(), mappings.end(), [address](const Mapping& m) {
    return address >= m.begin && address < m.end;
  });
  return found == mappings.end() ? nullptr : &*found;
}

const Mapping* FileNamed(const std::vector<Mapping>& mappings, std::string_view base_name) {
  const auto found = std::find_if(mappings.begin(), mappings.end(), [&](const Mapping& mapping) {
    const size_t slash = mapping.path.rfind('/');
    return slash != std::string::npos && mapping.file_offset == 0 &&
           std::string_view(mapping.path).substr(slash + 1) == base_name;
  });
  return found == mappings.end() ? nullptr : &*found;
}

std::map<std::string, uint64_t> ExportedFunctions(const std::string& file,
                                                  const std::vector<std::string>& names) {
  std::map<std::string, uint64_t> found;
  const UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.ok() || elf_version(EV_CURRENT) == EV_NONE) return found;
  Elf* const elf = elf_begin(fd.get(), ELF_C_READ, nullptr);
  if (elf == nullptr) return found;
  Elf_Data* versions = nullptr;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) != nullptr && header.sh_type == SHT_GNU_versym) {
      versions = elf_getdata(section, nullptr);
    }
  }
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_DYNSYM) continue;
    AddFunctions(elf, section, header, versions, names, &found);
  }
  elf_end(elf);
  return found;
}

}  // namespace coz::attach
