#include "coz/sourcemap/code_tree.h"

#include <algorithm>
#include <queue>

namespace coz::sourcemap {

void CodeTree::Clear() {
  instances_.clear();
  ranges_.clear();
}

uint32_t CodeTree::Add(uint32_t parent, const SourcePosition& call, SourceFunction* function) {
  FunctionInstance instance;
  instance.parent = parent;
  instance.depth = parent == kNoInstance ? 0 : instances_[parent].depth + 1;
  instance.call = call;
  instance.function = function;
  instances_.push_back(instance);
  return static_cast<uint32_t>(instances_.size() - 1);
}

void CodeTree::AddRange(uint32_t instance, uint64_t begin, uint64_t end) {
  if (begin < end) ranges_.push_back({begin, end, instance});
}

// Sweeps over the ranges in the order of their begins. `open` holds those that have begun, the
// innermost on top; one that has ended is dropped when it comes to the top.
std::vector<CodeSegment> CodeTree::Flatten() {
  std::sort(ranges_.begin(), ranges_.end(), [](const CodeSegment& a, const CodeSegment& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.instance < b.instance;
  });
  const auto is_outer = [this](const CodeSegment& a, const CodeSegment& b) {
    const uint32_t depth_a = instances_[a.instance].depth;
    const uint32_t depth_b = instances_[b.instance].depth;
    return depth_a != depth_b ? depth_a < depth_b : a.instance > b.instance;
  };
  std::priority_queue<CodeSegment, std::vector<CodeSegment>, decltype(is_outer)> open(is_outer);
  std::vector<CodeSegment> segments;
  segments.reserve(ranges_.size() * 2);
  uint64_t position = 0;
  // Emits what the open ranges cover from `position` up to `limit`.
  const auto advance_to = [&](uint64_t limit) {
    while (!open.empty() && position < limit) {
      const CodeSegment& top = open.top();
      if (top.end <= position) {
        open.pop();
        continue;
      }
      const uint64_t end = std::min(top.end, limit);
      if (!segments.empty() && segments.back().end == position &&
          segments.back().instance == top.instance) {
        segments.back().end = end;
      } else {
        segments.push_back({position, end, top.instance});
      }
      position = end;
    }
    position = limit;
  };
  for (const CodeSegment& range : ranges_) {
    advance_to(range.begin);
    open.push(range);
  }
  advance_to(UINT64_MAX);
  ranges_.clear();
  return segments;
}

}  // namespace coz::sourcemap
