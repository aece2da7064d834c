#include "coz/patch/relocation.h"

#include <fcntl.h>
#include <gelf.h>
#include <gtest/gtest.h>
#include <libelf.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "coz/patch/patch_builder.h"
#include "coz/patch/place_plan.h"

namespace coz::patch {
namespace {

constexpr uint64_t kFrom = 0x555555555000;
constexpr uint64_t kTo = 0x555551555123;

int32_t Word(const std::vector<uint8_t>& bytes, size_t at) {
  int32_t word = 0;
  memcpy(&word, &bytes[at], sizeof(word));
  return word;
}

uint64_t Long(const std::vector<uint8_t>& bytes, size_t at) {
  uint64_t value = 0;
  memcpy(&value, &bytes[at], sizeof(value));
  return value;
}

std::optional<Copy> CopyOf(const std::vector<uint8_t>& code) {
  return Relocate(code.data(), code.size(), kFrom, kTo);
}

// Where the four bytes at `at` lead to, as a distance from the byte behind them.
uint64_t TargetAt(const Copy& copy, size_t at) {
  return kTo + at + 4 + static_cast<uint64_t>(int64_t{Word(copy.bytes, at)});
}

TEST(RelocationTest, PlainInstructionIsTheSame) {
  const std::optional<Copy> copy = CopyOf({0x48, 0x89, 0xe5});
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(copy->bytes, (std::vector<uint8_t>{0x48, 0x89, 0xe5}));
}

TEST(RelocationTest, RipRelativeOperandNamesTheSameAddress) {
  const std::optional<Copy> copy = CopyOf({0x48, 0x8b, 0x05, 0x10, 0, 0, 0});
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(TargetAt(*copy, 3), kFrom + 7 + 0x10);
}

TEST(RelocationTest, RipRelativeOperandBeforeAConstantNamesTheSameAddress) {
  // cmp dword [rip+0x10], 0x12345678
  const std::optional<Copy> copy = CopyOf({0x81, 0x3d, 0x10, 0, 0, 0, 0x78, 0x56, 0x34, 0x12});
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(TargetAt(*copy, 2) + 4, kFrom + 10 + 0x10);
  EXPECT_EQ(Word(copy->bytes, 6), 0x12345678);
}

TEST(RelocationTest, ShortBranchesBecomeLong) {
  const std::optional<Copy> jump = CopyOf({0xeb, 0xfe});
  ASSERT_TRUE(jump.has_value());
  EXPECT_EQ(jump->bytes[0], 0xe9);
  EXPECT_EQ(TargetAt(*jump, 1), kFrom);
  const std::optional<Copy> branch = CopyOf({0x75, 0x10});
  ASSERT_TRUE(branch.has_value());
  EXPECT_EQ(branch->bytes[1], 0x85);
  EXPECT_EQ(TargetAt(*branch, 2), kFrom + 2 + 0x10);
}

TEST(RelocationTest, LoopGoesByALongJump) {
  const std::optional<Copy> copy = CopyOf({0xe2, 0xf0});
  ASSERT_TRUE(copy.has_value());
  ASSERT_EQ(copy->bytes.size(), 9);
  EXPECT_EQ(TargetAt(*copy, 5), kFrom + 2 - 0x10);
}

TEST(RelocationTest, CallPushesTheOriginalReturnAddress) {
  const std::optional<Copy> copy = CopyOf({0xe8, 0x10, 0, 0, 0});
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(TargetAt(*copy, copy->pushed_from + 1), kFrom + 5 + 0x10);
  EXPECT_EQ(Long(copy->bytes, 6 + static_cast<size_t>(Word(copy->bytes, 2))), kFrom + 5);
}

// As compilers write it for __tls_get_addr.
TEST(RelocationTest, CallWithPrefixesPushesTheAddressBehindIt) {
  const std::optional<Copy> copy = CopyOf({0x66, 0x66, 0x48, 0xe8, 0x10, 0, 0, 0});
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(TargetAt(*copy, copy->pushed_from + 1), kFrom + 8 + 0x10);
  EXPECT_EQ(Long(copy->bytes, 6 + static_cast<size_t>(Word(copy->bytes, 2))), kFrom + 8);
}

TEST(RelocationTest, IndirectCallPushesTheOriginalReturnAddress) {
  // call [rip+0x10]
  const std::optional<Copy> copy = CopyOf({0xff, 0x15, 0x10, 0, 0, 0});
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(copy->bytes[7], 0x25);  // jmp [rip+..]
  EXPECT_EQ(TargetAt(*copy, 8), kFrom + 6 + 0x10);
  EXPECT_EQ(Long(copy->bytes, 6 + static_cast<size_t>(Word(copy->bytes, 2))), kFrom + 6);
}

TEST(RelocationTest, WhatCannotBeCopiedIsRefused) {
  EXPECT_FALSE(CopyOf({0xff, 0x54, 0x24, 0x08}).has_value());        // call [rsp+8]
  EXPECT_FALSE(CopyOf({0x0f, 0x05}).has_value());                    // syscall
  EXPECT_FALSE(CopyOf({0xcc}).has_value());                          // int3
  EXPECT_FALSE(CopyOf({0xc7, 0xf8, 0, 0, 0, 0}).has_value());        // xbegin
  EXPECT_FALSE(CopyOf({0x66, 0xe8, 0x10, 0, 0, 0}).has_value());     // call, of 16 bits or 32
  EXPECT_FALSE(CopyOf({0x67, 0x8b, 0x05, 0, 0, 0, 0}).has_value());  // mov eax,[eip]
}

TEST(RelocationTest, OperandOutOfReachIsRefused) {
  const uint8_t code[] = {0x48, 0x8b, 0x05, 0x10, 0, 0, 0};
  EXPECT_FALSE(Relocate(code, sizeof(code), kFrom, kFrom + (uint64_t{3} << 30)).has_value());
}

// The code of a library that this test has loaded.
struct Library {
  std::string path;
  uint64_t bias = 0;
  std::map<uint64_t, uint64_t> functions;  // runtime address and bytes
};

int FindLibrary(dl_phdr_info* info, size_t, void* opaque) {
  auto* library = static_cast<Library*>(opaque);
  if (std::string(info->dlpi_name).find(library->path) == std::string::npos) return 0;
  library->path = info->dlpi_name;
  library->bias = info->dlpi_addr;
  return 1;
}

Library Load(const std::string& name) {
  Library library;
  library.path = name;
  if (dl_iterate_phdr(FindLibrary, &library) == 0) return library;
  elf_version(EV_CURRENT);
  const int fd = open(library.path.c_str(), O_RDONLY);
  Elf* elf = elf_begin(fd, ELF_C_READ, nullptr);
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr;
       section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_DYNSYM) continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    for (int i = 0; i < static_cast<int>(header.sh_size / header.sh_entsize); ++i) {
      GElf_Sym symbol;
      if (gelf_getsym(data, i, &symbol) == nullptr || symbol.st_shndx == SHN_UNDEF) continue;
      if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_size == 0) continue;
      library.functions[library.bias + symbol.st_value] = symbol.st_size;
    }
  }
  elf_end(elf);
  close(fd);
  return library;
}

// Whether the copy does what the original does, as another decoder sees it: Decode knows targets of
// branches, and all else is the same bytes but for four of a displacement.
void ExpectSameMeaning(const uint8_t* code, const Instruction& instruction, uint64_t from,
                       uint64_t to, const Copy& copy) {
  if (instruction.target.has_value()) {
    // The long jump or branch is the last but the word of a call.
    const size_t tail = instruction.flow == Flow::kCall ? 8 : 0;
    const size_t word = copy.bytes.size() - tail - 4;
    const uint64_t target = to + word + 4 + static_cast<uint64_t>(int64_t{Word(copy.bytes, word)});
    EXPECT_EQ(target, from + static_cast<uint64_t>(*instruction.target));
    if (tail != 0) {
      EXPECT_EQ(Long(copy.bytes, copy.bytes.size() - 8), from + instruction.bytes);
    }
    return;
  }
  if (instruction.flow == Flow::kCall) {
    EXPECT_EQ(Long(copy.bytes, copy.bytes.size() - 8), from + instruction.bytes);
    return;
  }
  ASSERT_EQ(copy.bytes.size(), instruction.bytes);
  size_t first = 0;
  while (first < copy.bytes.size() && copy.bytes[first] == code[first]) ++first;
  if (first == copy.bytes.size()) return;
  // The displacement begins at `first`, or before it where its low bytes are equal.
  bool is_moved = false;
  for (size_t at = first < 3 ? 0 : first - 3; at <= first && at + 4 <= copy.bytes.size(); ++at) {
    int32_t before = 0;
    memcpy(&before, code + at, sizeof(before));
    const uint64_t a = from + static_cast<uint64_t>(int64_t{before});
    const uint64_t b = to + static_cast<uint64_t>(int64_t{Word(copy.bytes, at)});
    is_moved |= a == b && std::equal(copy.bytes.begin() + static_cast<std::ptrdiff_t>(at) + 4,
                                     copy.bytes.end(), code + at + 4);
  }
  EXPECT_TRUE(is_moved);
}

struct Tally {
  size_t functions = 0;
  size_t instructions = 0;
  size_t copied = 0;
  size_t jumps = 0;
  size_t traps = 0;
};

void CheckFunction(uint64_t address, uint64_t bytes, size_t room, Tally* tally) {
  const auto* code = reinterpret_cast<const uint8_t*>(address);
  ++tally->functions;
  const uint64_t shift = uint64_t{64} << 20;
  for (uint64_t at = 0; at < bytes;) {
    const std::optional<Instruction> instruction = Decode(code + at, bytes - at);
    if (!instruction.has_value()) return;  // data among code
    ++tally->instructions;
    if (instruction->why_not.empty()) {
      const uint64_t from = address + at;
      const std::optional<Copy> copy = Relocate(code + at, instruction->bytes, from, from - shift);
      ASSERT_TRUE(copy.has_value()) << std::hex << from;
      ++tally->copied;
      ExpectSameMeaning(code + at, *instruction, from, from - shift, *copy);
      if (testing::Test::HasFailure()) {
        FAIL() << std::hex << from << " of the function at " << address;
      }
    }
    at += instruction->bytes;
  }
  const PlacePlan plan = PlanPlace({code, bytes, room, 0}, {});
  if (plan.way == Way::kNone) return;
  ++(plan.way == Way::kJump ? tally->jumps : tally->traps);
  const uint64_t place = address + plan.offset;
  const GivenBytes given = GivenInDistance(plan);
  const auto distance = static_cast<int32_t>((0xfc000000 & ~given.mask) | given.value);
  const uint64_t stub = place + kJumpBytes + static_cast<uint64_t>(int64_t{distance});
  EXPECT_TRUE(BuildPatch(plan, place, stub, {0, 0, 0, 0, {}, 0}).has_value())
      << std::hex << address;
}

Tally CheckLibrary(const Library& library) {
  Tally tally;
  for (auto at = library.functions.begin(); at != library.functions.end(); ++at) {
    const auto next = std::next(at);
    size_t room = at->second;
    if (next != library.functions.end()) {
      room = std::max<size_t>(room, std::min<size_t>(next->first - at->first, at->second + 16));
    }
    CheckFunction(at->first, at->second, room, &tally);
    if (testing::Test::HasFatalFailure()) break;
  }
  return tally;
}

class EveryFunctionTest : public testing::TestWithParam<const char*> {};

TEST_P(EveryFunctionTest, IsDecodedAndItsCopiesMeanTheSame) {
  const Library library = Load(GetParam());
  ASSERT_GT(library.functions.size(), 1000) << library.path;
  const Tally tally = CheckLibrary(library);
  printf("%s: %zu functions, %zu instructions, %zu can be copied; %zu jumps, %zu int3s\n",
         library.path.c_str(), tally.functions, tally.instructions, tally.copied, tally.jumps,
         tally.traps);
  EXPECT_GT(tally.jumps + tally.traps, library.functions.size() * 9 / 10);
}

INSTANTIATE_TEST_SUITE_P(Libraries, EveryFunctionTest, testing::Values("libc.so", "libstdc++.so"),
                         [](const auto& library) -> std::string {
                           return std::string(library.param) == "libc.so" ? "Libc" : "Libstdcxx";
                         });

}  // namespace
}  // namespace coz::patch
