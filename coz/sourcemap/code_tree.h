// The functions of one compilation unit and the calls inlined into them, and which of them each
// address belongs to.
//
// Shape    a forest of instances: roots are functions with code of their own, the others calls that
//          were inlined; flattened to disjoint segments, each with its innermost instance
// Units    ELF addresses; files are ids of the reader
// Errors   none: ranges that cross each other are resolved, deeper wins, then first
// Threads  compatible
// Signals  not safe
// Source   none
#ifndef COZ_SOURCEMAP_CODE_TREE_H_
#define COZ_SOURCEMAP_CODE_TREE_H_

#include <cstdint>
#include <vector>

namespace coz::sourcemap {

// Before any file id is known.
inline constexpr uint32_t kNoFile = 0xffffffff;

struct SourcePosition {
  uint32_t file = kNoFile;
  uint32_t line = 0;  // 0: unknown
};

// A function as declared, shared by all of its instances.
struct SourceFunction {
  const char* linkage_name = nullptr;
  const char* name = nullptr;
  const void* name_die = nullptr;  // where `name` was found
  SourcePosition declaration;
  uint32_t name_id = 0xffffffff;  // assigned when a line first needs the name
};

inline constexpr uint32_t kNoInstance = 0xffffffff;

struct FunctionInstance {
  uint32_t parent = kNoInstance;  // kNoInstance: a function with code of its own
  uint32_t depth = 0;
  SourcePosition call;  // where it was inlined; unknown for a root
  SourceFunction* function = nullptr;
  // The last row with a line that belonged to this instance itself, in the order of addresses.
  SourcePosition last_row;
  SourcePosition last_row_in_scope;
};

struct CodeSegment {
  uint64_t begin;
  uint64_t end;
  uint32_t instance;
};

class CodeTree {
 public:
  void Clear();
  // `parent` is an index that was returned before, or kNoInstance.
  uint32_t Add(uint32_t parent, const SourcePosition& call, SourceFunction* function);
  void AddRange(uint32_t instance, uint64_t begin, uint64_t end);

  // Disjoint, in the order of addresses. Consumes the ranges.
  std::vector<CodeSegment> Flatten();

  FunctionInstance& instance(uint32_t index) { return instances_[index]; }
  const FunctionInstance& instance(uint32_t index) const { return instances_[index]; }

 private:
  std::vector<FunctionInstance> instances_;
  std::vector<CodeSegment> ranges_;
};

}  // namespace coz::sourcemap

#endif  // COZ_SOURCEMAP_CODE_TREE_H_
