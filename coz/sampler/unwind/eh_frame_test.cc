// The parsers of .eh_frame on bytes made by hand, and on libc's own with some of them changed.
#include "coz/sampler/unwind/eh_frame.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <vector>

#include "coz/base/byte_reader.h"
#include "coz/sampler/unwind/cfa_program.h"
#include "coz/sampler/unwind/dwarf_expression.h"
#include "coz/sampler/unwind/object_finder.h"
#include "coz/sampler/unwind/rule_cache.h"
#include "coz/testing/in_child.h"

namespace coz::sampler {
namespace {

ByteReader ReaderOf(const std::vector<uint8_t>& bytes) {
  return ByteReader(bytes.data(), bytes.data() + bytes.size());
}

// Rules after `instructions` at `offset` into a function at 0x1000.
bool RulesOf(const std::vector<uint8_t>& instructions, uint64_t offset, FrameRules* rules) {
  static const std::vector<uint8_t> initial = {0x0c, 7, 8, 0x90, 1};  // CFA rsp+8, RA at CFA-8
  FrameDescription description;
  description.begin = 0x1000;
  description.end = 0x2000;
  description.data_alignment = -8;
  description.initial_instructions = initial.data();
  description.initial_instructions_end = initial.data() + initial.size();
  description.instructions = instructions.data();
  description.instructions_end = instructions.data() + instructions.size();
  return FindFrameRules(description, instructions.data(), 0x1000 + offset, rules);
}

TEST(CfaProgramTest, RulesAreThoseOfTheRowThatHoldsTheAddress) {
  // push %rbp; mov %rsp,%rbp
  const std::vector<uint8_t> instructions = {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6};
  FrameRules rules;
  ASSERT_TRUE(RulesOf(instructions, 0, &rules));
  EXPECT_EQ(rules.cfa_value, 8);
  EXPECT_EQ(rules.registers.kind[kRbp], RuleKind::kSameValue);
  ASSERT_TRUE(RulesOf(instructions, 1, &rules));
  EXPECT_EQ(rules.cfa_register, kRsp);
  EXPECT_EQ(rules.cfa_value, 16);
  EXPECT_EQ(rules.registers.kind[kRbp], RuleKind::kAtCfaPlus);
  EXPECT_EQ(rules.registers.value[kRbp], -16);
  ASSERT_TRUE(RulesOf(instructions, 4, &rules));
  EXPECT_EQ(rules.cfa_register, kRbp);
  EXPECT_EQ(rules.registers.value[kReturnAddress], -8);
}

TEST(CfaProgramTest, RestoredStateIsTheRememberedOneWithItsCfa) {
  const std::vector<uint8_t> instructions = {0x41, 0x0e, 16, 0x83, 2,    0x41,
                                             0x0a, 0x0e, 8,  0xc3, 0x41, 0x0b};
  FrameRules rules;
  ASSERT_TRUE(RulesOf(instructions, 2, &rules));
  EXPECT_EQ(rules.cfa_value, 8);
  EXPECT_EQ(rules.registers.kind[kRbx], RuleKind::kSameValue);
  ASSERT_TRUE(RulesOf(instructions, 3, &rules));
  EXPECT_EQ(rules.cfa_value, 16);
  EXPECT_EQ(rules.registers.kind[kRbx], RuleKind::kAtCfaPlus);
}

TEST(CfaProgramTest, MalformedInstructionsAreRefused) {
  FrameRules rules;
  EXPECT_FALSE(RulesOf({0x0b}, 0, &rules));  // restores what was not remembered
  EXPECT_FALSE(RulesOf(std::vector<uint8_t>(100, 0x0a), 0, &rules));  // remembers without end
  EXPECT_FALSE(RulesOf({0x3f}, 0, &rules));                           // no such instruction
  EXPECT_FALSE(RulesOf({0x0e, 0x80}, 0, &rules));                     // number cut off
  EXPECT_FALSE(RulesOf({0x0d, 40}, 0, &rules));                       // CFA by a vector register
}

TEST(CfaProgramTest, VectorRegistersAreSkipped) {
  FrameRules rules;
  EXPECT_TRUE(RulesOf({0x05, 33, 2, 0x0e, 24}, 0, &rules));
  EXPECT_EQ(rules.cfa_value, 24);
}

uint64_t Evaluate(const std::vector<uint8_t>& bytes, EvaluationResult expected) {
  uint64_t registers[kRegisterCount] = {};
  static uint64_t memory_word = 0x1122334455667788;
  registers[kRsp] = reinterpret_cast<uint64_t>(&memory_word);
  registers[kReturnAddress] = 0x100b;
  StackReader memory(0);
  uint64_t result = 0;
  EXPECT_EQ(EvaluateExpression(ReaderOf(bytes), registers, nullptr, &memory, &result), expected);
  return result;
}

TEST(DwarfExpressionTest, ProcedureLinkageTableExpressionDependsOnTheAddress) {
  // rsp + 8 + ((rip & 15) >= 11) << 3, with which binutils describe the PLT
  const std::vector<uint8_t> plt = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
  EXPECT_EQ(Evaluate(plt, EvaluationResult::kOk) & 7, 0u);
  const uint64_t at_11 = Evaluate(plt, EvaluationResult::kOk);
  const std::vector<uint8_t> rsp = {0x77, 0};
  EXPECT_EQ(at_11 - Evaluate(rsp, EvaluationResult::kOk), 16u);
}

TEST(DwarfExpressionTest, MemoryIsReadInTheSizeAskedFor) {
  EXPECT_EQ(Evaluate({0x77, 0, 0x06}, EvaluationResult::kOk), 0x1122334455667788u);
  EXPECT_EQ(Evaluate({0x77, 0, 0x94, 2}, EvaluationResult::kOk), 0x7788u);
}

TEST(DwarfExpressionTest, RefusesWhatCannotBeEvaluated) {
  Evaluate({}, EvaluationResult::kMalformed);                        // nothing on the stack
  Evaluate({0x31, 0x2f, 0}, EvaluationResult::kMalformed);           // a jump that is cut off
  Evaluate({0x22}, EvaluationResult::kMalformed);                    // plus without operands
  Evaluate({0x30, 0x2f, 0xfc, 0xff}, EvaluationResult::kMalformed);  // loops for ever
  Evaluate({0x30, 0x2f, 0x00, 0x70}, EvaluationResult::kMalformed);  // leaves the expression
  Evaluate({0x31, 0x30, 0x1b}, EvaluationResult::kMalformed);        // division by zero
  Evaluate(std::vector<uint8_t>(100, 0x30), EvaluationResult::kMalformed);
  Evaluate({0x38, 0x06}, EvaluationResult::kUnreadable);  // address 8
}

TEST(CompactRulesTest, PackedRulesAreThoseThatWerePacked) {
  FrameRules rules;
  ASSERT_TRUE(RulesOf({0x0c, 6, 16, 0x86, 2, 0x8c, 3, 0x83, 0xff, 0x01}, 0, &rules));
  const CompactRules compact = CompactRules::Pack(rules);
  ASSERT_TRUE(compact.present());
  EXPECT_EQ(compact.cfa_register(), kRbp);
  EXPECT_EQ(compact.cfa_offset(), 16u);
  EXPECT_EQ(compact.below_cfa(0), 255u * 8);  // rbx
  EXPECT_EQ(compact.below_cfa(1), 16u);       // rbp
  EXPECT_EQ(compact.below_cfa(2), 24u);       // r12
  EXPECT_EQ(compact.below_cfa(3), 0u);        // r13, unchanged
}

TEST(CompactRulesTest, RulesOfAnotherKindAreNotPacked) {
  FrameRules rules;
  ASSERT_TRUE(RulesOf({0x07, 16}, 0, &rules));  // outermost frame
  EXPECT_FALSE(CompactRules::Pack(rules).present());
  ASSERT_TRUE(RulesOf({0x0c, 10, 0}, 0, &rules));  // CFA by r10
  EXPECT_FALSE(CompactRules::Pack(rules).present());
  ASSERT_TRUE(RulesOf({0x09, 3, 12}, 0, &rules));  // rbx in r12
  EXPECT_FALSE(CompactRules::Pack(rules).present());
}

TEST(RuleCacheTest, FindsWhatWasInsertedUntilForgotten) {
  static RuleCache cache;
  FrameRules rules;
  ASSERT_TRUE(RulesOf({0x0e, 64}, 0, &rules));
  const CompactRules compact = CompactRules::Pack(rules);
  EXPECT_FALSE(cache.Find(0x401234).present());
  cache.Insert(0x401234, compact);
  EXPECT_EQ(cache.Find(0x401234).word(), compact.word());
  EXPECT_FALSE(cache.Find(0x401235).present());
  cache.Forget();
  EXPECT_FALSE(cache.Find(0x401234).present());
}

// libc's load segment with .eh_frame, copied to before a page that faults.
class CopiedSection {
 public:
  explicit CopiedSection(const EhFrameSection& section)
      : bytes_(static_cast<size_t>(section.end - section.begin)) {
    const size_t mapped = (bytes_ + 4095) / 4096 * 4096;
    auto* memory = static_cast<uint8_t*>(
        mmap(nullptr, mapped + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(memory + mapped, 4096, PROT_NONE);
    begin_ = memory + mapped - bytes_;
    memcpy(begin_, section.begin, bytes_);
    section_ = {begin_, begin_ + bytes_, begin_ + (section.header - section.begin)};
  }

  const EhFrameSection& section() const { return section_; }
  uint8_t* begin() { return begin_; }
  uint8_t* header() { return begin_ + (section_.header - section_.begin); }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_;
  uint8_t* begin_;
  EhFrameSection section_;
};

TEST(EhFrameFuzzTest, ChangedBytesNeverLeadOutOfTheSection) {
  const int status = testing::RunInChild([] {
    InitObjectFinder();
    EhFrameSection libc;
    if (!FindEhFrame(reinterpret_cast<uint64_t>(&qsort), &libc)) _exit(3);
    CopiedSection copy(libc);
    // Code addresses are relative, so they have moved with the copy.
    const uint64_t moved =
        reinterpret_cast<uint64_t>(copy.begin()) - reinterpret_cast<uint64_t>(libc.begin);
    std::mt19937_64 random(7);
    int found = 0;
    for (int round = 0; round < 30000; ++round) {
      const bool in_header = random() % 4 == 0;
      uint8_t* const changed =
          in_header ? copy.header() + random() % 64 : copy.begin() + random() % copy.bytes();
      const uint8_t before = *changed;
      *changed = static_cast<uint8_t>(random());
      for (int probe = 0; probe < 4; ++probe) {
        const uint64_t address =
            reinterpret_cast<uint64_t>(&qsort) + moved + random() % 0x20000 - 0x10000;
        FrameDescription description;
        if (FindFrameDescription(copy.section(), address, &description) != FindResult::kFound) {
          continue;
        }
        FrameRules rules;
        found += FindFrameRules(description, copy.section().begin, address, &rules);
      }
      if (in_header || round % 16 == 0) *changed = before;  // other damage adds up
    }
    if (found < 1000) _exit(4);
  });
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace coz::sampler
