// Keeps the usual kind of frame rules by address, so that a step costs a look-up, not a decoding.
//
// Shape    direct-mapped; an entry is a word and its key XOR that word: an entry that a race has
//          mixed up does not match, and counts as absent
// Units    runtime addresses; multiples of 8 bytes
// Errors   none: what does not fit or was displaced is decoded again
// Threads  safe, lock-free
// Signals  async-signal-safe
// Source   R. Hyatt, T. Mann: "A lockless transposition-table implementation for parallel search"
#ifndef COZ_SAMPLER_UNWIND_RULE_CACHE_H_
#define COZ_SAMPLER_UNWIND_RULE_CACHE_H_

#include <atomic>
#include <cstdint>

#include "coz/sampler/unwind/cfa_program.h"

namespace coz::sampler {

// CFA is rsp or rbp plus an offset, the return address lies at CFA - 8, and registers that a callee
// keeps are unchanged or lie at a multiple of 8 below CFA. Packed into a word that is never 0:
// a byte for each kept register, a bit for the base, 15 bits for the offset.
class CompactRules {
 public:
  static constexpr int kKept[] = {kRbx, kRbp, kR12, kR12 + 1, kR12 + 2, kR12 + 3};
  static constexpr int kKeptCount = 6;

  CompactRules() = default;
  explicit CompactRules(uint64_t word) : word_(word) {}

  // Not present() where the rules are of another kind.
  static CompactRules Pack(const FrameRules& rules);

  bool present() const { return word_ != 0; }
  uint64_t word() const { return word_; }
  int cfa_register() const { return (word_ >> kBaseShift & 1) != 0 ? kRbp : kRsp; }
  uint64_t cfa_offset() const { return word_ >> kOffsetShift << 3; }
  // 0: unchanged, else how far below CFA kKept[index] lies.
  uint64_t below_cfa(int index) const { return (word_ >> (8 * index) & 0xff) << 3; }

 private:
  static constexpr int kBaseShift = 48;
  static constexpr int kOffsetShift = 49;

  uint64_t word_ = 0;
};

class RuleCache {
 public:
  constexpr RuleCache() = default;

  CompactRules Find(uint64_t lookup_address) const {
    const uint64_t key = KeyOf(lookup_address);
    const Entry& entry = entries_[SlotOf(lookup_address)];
    const uint64_t word = entry.word.load(std::memory_order_relaxed);
    const uint64_t mixed = entry.key_xor_word.load(std::memory_order_relaxed);
    return CompactRules((mixed ^ word) == key ? word : 0);
  }

  void Insert(uint64_t lookup_address, CompactRules rules) {
    Entry& entry = entries_[SlotOf(lookup_address)];
    entry.word.store(rules.word(), std::memory_order_relaxed);
    entry.key_xor_word.store(KeyOf(lookup_address) ^ rules.word(), std::memory_order_relaxed);
  }

  // Keys of earlier generations match no more.
  void Forget() { generation_.fetch_add(1, std::memory_order_relaxed); }

 private:
  static constexpr int kSlotBits = 12;
  static constexpr int kAddressBits = 47;

  struct Entry {
    std::atomic<uint64_t> word{0};
    std::atomic<uint64_t> key_xor_word{0};
  };

  uint64_t KeyOf(uint64_t lookup_address) const {
    return lookup_address ^ generation_.load(std::memory_order_relaxed) << kAddressBits;
  }

  static uint64_t SlotOf(uint64_t lookup_address) {
    return lookup_address * 0x9e3779b97f4a7c15 >> (64 - kSlotBits);
  }

  Entry entries_[1 << kSlotBits];
  std::atomic<uint64_t> generation_{0};
};

}  // namespace coz::sampler

#endif  // COZ_SAMPLER_UNWIND_RULE_CACHE_H_
