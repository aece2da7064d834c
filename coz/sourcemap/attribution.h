// Decides which line each address of a compilation unit belongs to.
//
// The rules, in order; the first that gives a line wins:
//  1. The row of the line table, if its file is in scope. A row of line 0 counts as the last row
//     with a line of the same function instance (else of the same sequence, where there is no
//     instance).
//  2. The call that was inlined, from the innermost outwards: the first whose file is in scope.
//  3. Of the innermost function that is declared in scope: its last row in scope, else its
//     declaration. So code of the program's own functions is never lost, even where the compiler
//     has dropped the record of what was inlined.
// Otherwise the address has no line: the sampler goes on to its caller.
// The line's function is the innermost function around it that is declared in scope. Its callers
// are those that it was inlined into by a call in scope.
//
// Shape    rows and segments in, disjoint intervals in the order of addresses out
// Units    ELF addresses; files are ids of the reader
// Errors   none: rows that overlap are resolved so that no address is lost; what comes first stays
// Threads  compatible
// Signals  not safe
// Source   DWARF 5, section 3.3.8 (inlined calls) and 6.2.2 (line 0)
#ifndef COZ_SOURCEMAP_ATTRIBUTION_H_
#define COZ_SOURCEMAP_ATTRIBUTION_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "coz/sourcemap/code_tree.h"

namespace coz::sourcemap {

// The position holds for [begin, end); a sequence is code without gaps.
struct RowInterval {
  uint64_t begin;
  uint64_t end;
  SourcePosition position;
  uint32_t sequence;
};

inline constexpr uint32_t kNoCaller = 0xffffffff;

// A function that code was inlined into.
struct InlinedCaller {
  SourceFunction* function;
  SourcePosition call;  // where, in scope
  uint32_t caller;  // of the function itself, by inlining: index in InlinedCallers, or kNoCaller
};

// Keeps each list of callers once.
class InlinedCallers {
 public:
  uint32_t Add(const InlinedCaller& caller) {
    const auto [entry, is_new] =
        index_of_.try_emplace({caller.function, caller.call.file, caller.call.line, caller.caller},
                              static_cast<uint32_t>(callers_.size()));
    if (is_new) callers_.push_back(caller);
    return entry->second;
  }
  const InlinedCaller& at(uint32_t index) const { return callers_[index]; }
  uint32_t size() const { return static_cast<uint32_t>(callers_.size()); }

 private:
  std::map<std::tuple<SourceFunction*, uint32_t, uint32_t, uint32_t>, uint32_t> index_of_;
  std::vector<InlinedCaller> callers_;
};

struct LineInterval {
  uint64_t begin;
  uint64_t end;
  SourcePosition position;   // in scope
  SourceFunction* function;  // null where no function is known
  SourceFunction* code_of;   // the function with code of its own that the address lies in, or null
  uint32_t caller = kNoCaller;  // index in InlinedCallers, where they are asked for
};

// Sorts `intervals` by their begin and cuts off what an earlier one covers. Intervals with the same
// begin keep their order.
template <typename Interval>
void MakeDisjoint(std::vector<Interval>* intervals) {
  const auto begins_before = [](const Interval& a, const Interval& b) { return a.begin < b.begin; };
  if (!std::is_sorted(intervals->begin(), intervals->end(), begins_before)) {
    std::stable_sort(intervals->begin(), intervals->end(), begins_before);
  }
  uint64_t covered_until = 0;
  size_t kept = 0;
  for (Interval interval : *intervals) {
    interval.begin = std::max(interval.begin, covered_until);
    if (interval.begin >= interval.end) continue;
    covered_until = interval.end;
    (*intervals)[kept++] = interval;
  }
  intervals->resize(kept);
}

class Attribution {
 public:
  using IsInScope = std::function<bool(uint32_t file)>;

  // `callers`: gets the callers of lines; null: lines have none.
  Attribution(CodeTree* tree, IsInScope is_in_scope, InlinedCallers* callers = nullptr)
      : tree_(*tree), is_in_scope_(std::move(is_in_scope)), callers_(callers) {}

  // Appends the lines of all addresses that `rows` cover to `lines`. `rows` must be disjoint.
  void Run(const std::vector<RowInterval>& rows, std::vector<LineInterval>* lines);

 private:
  void Emit(uint64_t begin, uint64_t end, const RowInterval& row, uint32_t instance,
            std::vector<LineInterval>* lines);
  bool Resolve(SourcePosition row, uint32_t instance, LineInterval* line) const;
  bool IsLineInScope(const SourcePosition& position) const;
  SourceFunction* FunctionInScope(uint32_t instance) const;
  SourceFunction* RootOf(uint32_t instance) const;
  uint32_t CallerOf(const SourceFunction* function, uint32_t instance);

  CodeTree& tree_;
  IsInScope is_in_scope_;
  InlinedCallers* callers_;
  std::vector<InlinedCaller> found_callers_;
  SourcePosition last_row_;  // of the sequence, outside of any instance
  uint32_t last_sequence_ = 0;
};

}  // namespace coz::sourcemap

#endif  // COZ_SOURCEMAP_ATTRIBUTION_H_
