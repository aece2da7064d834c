#include "coz/sampler/unwind/rule_cache.h"

namespace coz::sampler {

CompactRules CompactRules::Pack(const FrameRules& rules) {
  const CompactRules absent;
  const RegisterRules& from = rules.registers;
  if (rules.cfa_is_expression) return absent;
  if (rules.cfa_register != kRsp && rules.cfa_register != kRbp) return absent;
  if (rules.cfa_value < 8 || rules.cfa_value % 8 != 0 || rules.cfa_value >> 3 >= 1 << 15) {
    return absent;
  }
  if (from.kind[kReturnAddress] != RuleKind::kAtCfaPlus || from.value[kReturnAddress] != -8) {
    return absent;
  }
  uint64_t word = static_cast<uint64_t>(rules.cfa_value >> 3) << kOffsetShift;
  if (rules.cfa_register == kRbp) word |= uint64_t{1} << kBaseShift;
  bool is_kept[kRegisterCount] = {};
  for (int index = 0; index < kKeptCount; ++index) {
    const int number = kKept[index];
    is_kept[number] = true;
    if (from.kind[number] == RuleKind::kSameValue) continue;
    const int32_t below = -from.value[number];
    if (from.kind[number] != RuleKind::kAtCfaPlus || below < 8 || below % 8 != 0 ||
        below >> 3 > 0xff) {
      return absent;
    }
    word |= static_cast<uint64_t>(below >> 3) << (8 * index);
  }
  for (int number = 0; number < kReturnAddress; ++number) {
    if (!is_kept[number] && from.kind[number] != RuleKind::kSameValue) return absent;
  }
  return CompactRules(word);
}

}  // namespace coz::sampler
