// Answers the target's announcements of loaded objects with line tables, and names units.
//
// Shape    units are numbered over all tables in the order in which tables became ready; a unit is one line of one table
// Units    UnitId as in coz/experiment, which is the number in samples
// Errors   an object without a table is in `objects()` with the reason
// Threads  compatible
// Signals  none
// Source   docs/design.md, "Line tables"
#ifndef COZ_TOOLS_SUPERVISOR_UNIT_INDEX_H_
#define COZ_TOOLS_SUPERVISOR_UNIT_INDEX_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "coz/experiment/target.h"
#include "coz/runtime/control_block.h"
#include "coz/sourcemap/cache.h"
#include "coz/sourcemap/scope.h"

namespace coz {

class UnitIndex {
 public:
  struct Object {
    std::string path;
    uint64_t load_bias = 0;
    uint32_t first_unit = 0;
    bool loaded = false;                 // the target has announced it
    std::shared_ptr<LoadedTable> table;  // null: in scope, but without line table
    std::string why_no_table;
  };

  UnitIndex(BinaryScope binary_scope, SourceScope source_scope)
      : binary_scope_(std::move(binary_scope)), source_scope_(std::move(source_scope)) {}

  // Reads the program's table before it starts, so that its first sample is mapped.
  // A program that may do without a table is one that becomes another by exec.
  absl::Status Prepare(const std::string& program, const std::function<void(double)>& progress,
                       bool may_lack_table);

  // Answers for the program before it starts: its processes may lack the right to open anything of the supervisor's later.
  void Preannounce(ControlBlock& control);

  // Answers what the target has announced since the last call.
  void Answer(ControlBlock& control);

  // Objects in scope.
  const std::vector<Object>& objects() const { return objects_; }

  struct Unit {
    Line line;
    uint32_t object;  // index into objects()
  };
  // The unit must exist.
  Unit Describe(UnitId unit) const;

  // Units whose line is `file_line`, as a user types it: "main.cc:12" or with more of the path.
  std::vector<UnitId> Find(std::string_view file_line) const;

 private:
  // The object of a path, its table read if it has not been; a new one is the last of objects_.
  Object& Load(const std::string& path, const std::function<void(double)>& progress);
  void AnswerOne(ModuleSlot& slot);

  BinaryScope binary_scope_;
  SourceScope source_scope_;
  std::string program_;
  std::vector<Object> objects_;
  std::map<std::string, size_t> object_by_path_;
  std::set<std::string> passed_over_;  // other programs than the first, without debug information
  uint32_t next_unit_ = 0;
};

}  // namespace coz

#endif  // COZ_TOOLS_SUPERVISOR_UNIT_INDEX_H_
