#include "coz/sourcemap/attribution.h"

namespace coz::sourcemap {

bool Attribution::IsLineInScope(const SourcePosition& position) const {
  return position.line != 0 && position.file != kNoFile && is_in_scope_(position.file);
}

// Functions that the compiler made have no declaration; they count as the program's.
SourceFunction* Attribution::FunctionInScope(uint32_t instance) const {
  SourceFunction* outermost = nullptr;
  for (uint32_t i = instance; i != kNoInstance; i = tree_.instance(i).parent) {
    SourceFunction* function = tree_.instance(i).function;
    if (function == nullptr) continue;
    const uint32_t file = function->declaration.file;
    if (file == kNoFile || is_in_scope_(file)) return function;
    outermost = function;
  }
  return outermost;
}

SourceFunction* Attribution::RootOf(uint32_t instance) const {
  SourceFunction* root = nullptr;
  for (uint32_t i = instance; i != kNoInstance; i = tree_.instance(i).parent) {
    root = tree_.instance(i).function;
  }
  return root;
}

// The first caller in scope of the function that an address of the instance belongs to.
uint32_t Attribution::CallerOf(const SourceFunction* function, uint32_t instance) {
  if (callers_ == nullptr || instance == kNoInstance) return kNoCaller;
  found_callers_.clear();
  for (uint32_t i = instance; tree_.instance(i).parent != kNoInstance;
       i = tree_.instance(i).parent) {
    const SourcePosition& call = tree_.instance(i).call;
    if (!IsLineInScope(call)) continue;
    SourceFunction* caller = FunctionInScope(tree_.instance(i).parent);
    if (caller == nullptr || caller == function) continue;
    found_callers_.push_back({caller, call, kNoCaller});
    function = caller;
  }
  uint32_t caller = kNoCaller;
  for (auto found = found_callers_.rbegin(); found != found_callers_.rend(); ++found) {
    found->caller = caller;
    caller = callers_->Add(*found);
  }
  return caller;
}

bool Attribution::Resolve(SourcePosition row, uint32_t instance, LineInterval* line) const {
  if (IsLineInScope(row)) {
    line->position = row;
    line->function = FunctionInScope(instance);
    return true;
  }
  for (uint32_t i = instance; i != kNoInstance; i = tree_.instance(i).parent) {
    if (!IsLineInScope(tree_.instance(i).call)) continue;
    line->position = tree_.instance(i).call;
    line->function = FunctionInScope(tree_.instance(i).parent);
    return true;
  }
  for (uint32_t i = instance; i != kNoInstance; i = tree_.instance(i).parent) {
    const FunctionInstance& candidate = tree_.instance(i);
    if (candidate.function == nullptr || !IsLineInScope(candidate.function->declaration)) continue;
    line->position = candidate.last_row_in_scope.line != 0 ? candidate.last_row_in_scope
                                                           : candidate.function->declaration;
    line->function = candidate.function;
    return true;
  }
  return false;
}

void Attribution::Emit(uint64_t begin, uint64_t end, const RowInterval& row, uint32_t instance,
                       std::vector<LineInterval>* lines) {
  if (row.sequence != last_sequence_) last_row_ = {};
  last_sequence_ = row.sequence;
  SourcePosition& last_row =
      instance == kNoInstance ? last_row_ : tree_.instance(instance).last_row;
  SourcePosition position = row.position;
  if (position.line == 0) position = last_row;
  last_row = position;
  if (instance != kNoInstance && IsLineInScope(position)) {
    tree_.instance(instance).last_row_in_scope = position;
  }
  LineInterval line{begin, end, {}, nullptr, nullptr};
  if (!Resolve(position, instance, &line)) return;
  line.caller = CallerOf(line.function, instance);
  line.code_of = RootOf(instance);
  LineInterval* previous = lines->empty() ? nullptr : &lines->back();
  if (previous != nullptr && previous->end == begin && previous->function == line.function &&
      previous->code_of == line.code_of && previous->caller == line.caller &&
      previous->position.file == line.position.file &&
      previous->position.line == line.position.line) {
    previous->end = end;
  } else {
    lines->push_back(line);
  }
}

void Attribution::Run(const std::vector<RowInterval>& rows, std::vector<LineInterval>* lines) {
  const std::vector<CodeSegment> segments = tree_.Flatten();
  auto segment = segments.begin();
  for (const RowInterval& row : rows) {
    uint64_t position = row.begin;
    while (position < row.end) {
      while (segment != segments.end() && segment->end <= position) ++segment;
      uint64_t end = row.end;
      uint32_t instance = kNoInstance;
      if (segment != segments.end() && segment->begin <= position) {
        instance = segment->instance;
        end = std::min(end, segment->end);
      } else if (segment != segments.end()) {
        end = std::min(end, segment->begin);
      }
      Emit(position, end, row, instance, lines);
      position = end;
    }
  }
}

}  // namespace coz::sourcemap
