// Answers the target's announcements of loaded objects with tables of units, and names units.
//
// Shape    units are numbered over all objects: first the groups, which all objects share, then
//          kinds of waits, where waits are units, then those of each object in the order in which
//          it was read; then call paths, and the units of thread groups, by their place in the
//          table of the control block
// Units    UnitId as in coz/experiment, which is the number in samples
// Errors   an object without a table is in `objects()` with the reason
// Threads  compatible
// Signals  none
// Source   docs/design.md, "Line tables"; docs/units.md
#ifndef COZ_TOOLS_SUPERVISOR_UNIT_INDEX_H_
#define COZ_TOOLS_SUPERVISOR_UNIT_INDEX_H_

#include <bitset>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "coz/experiment/target.h"
#include "coz/sourcemap/cache.h"
#include "coz/sourcemap/perf_map.h"
#include "coz/sourcemap/scope.h"
#include "coz/sourcemap/unit_table.h"
#include "coz/supervisor/target/shared_control.h"
#include "coz/sync/delay/outside_wait.h"

namespace coz::supervisor {

// In the binary scope and in the profile: code that processes compile while they run.
inline constexpr char kJitCode[] = "JIT";

// Threads in no group, where units are split by them.
inline constexpr char kOtherThreads[] = "others";

class UnitIndex {
 public:
  struct Object {
    std::string path;
    std::string file_version;
    uint64_t load_bias = 0;
    uint32_t first_unit = 0;  // of its own, behind the groups
    bool loaded = false;      // the target has announced it
    std::shared_ptr<sourcemap::LoadedTable>
        table;  // of its lines; null: in scope, but without line table
    std::shared_ptr<sourcemap::LoadedTable> units_table;  // what the target looks up
    std::vector<sourcemap::UnitDescription>
        units;  // by line of units_table; empty where that is `table`
    sourcemap::UnitKind kind = sourcemap::UnitKind::kLine;  // of these lines, then
    std::string why_no_table;
    bool is_unshared = false;   // there is a table, and the target could not be given it
    uint64_t table_offset = 0;  // behind the control block; 0: not there yet

    // Of call paths: behind the control block, as shared::InlinedPath; 0: none.
    uint64_t inlined_paths_offset = 0;
    std::vector<shared::InlinedPath> inlined_paths;

    // Code that processes compile while they run. Its units come one by one, and it has no table.
    bool is_jit = false;

    bool has_units() const { return table != nullptr || is_jit; }
    uint32_t unit_count() const {
      return units.empty() ? units_table->table().line_count()
                           : static_cast<uint32_t>(units.size());
    }
    sourcemap::UnitDescription Describe(uint32_t index) const;
  };

  UnitIndex(sourcemap::BinaryScope binary_scope, sourcemap::SourceScope source_scope,
            sourcemap::UnitRules rules = {})
      : binary_scope_(std::move(binary_scope)),
        source_scope_(std::move(source_scope)),
        rules_(std::move(rules)),
        group_has_code_(rules_.groups.size()),
        exclude_has_code_(rules_.exclude.size()),
        next_unit_(FirstOfObjects()) {
    if (AreCallPaths()) KeepParts();
  }

  // Splits each unit into one for each of these groups, and one for kOtherThreads. Before anything
  // else.
  void SplitByThreadGroup(std::vector<std::string> names);

  // An object that is never in scope: the runtime.
  void LeaveOut(const std::string& path);

  // Reads the program's table before it starts, so that its first sample is mapped.
  // `may_lack_table`: the program becomes another by exec.
  absl::Status Prepare(const std::string& program, const std::function<void(double)>& progress,
                       bool may_lack_table);

  // Answers for the program before it starts: its processes may lack the right to open anything of
  // the supervisor's later.
  void Preannounce(SharedControl& shared);

  // Answers what the target has announced since the last call.
  void Answer(SharedControl& shared);

  // Whether code that processes compile while they run is in scope.
  bool TakesJitCode() const;

  // The unit of such code by its name in a perf map. shared::kNoUnit where it is out of scope, or
  // there are too many. Where lines are units, a function of which no lines are known is one.
  uint32_t UnitOfJitCode(std::string_view name) {
    return UnitOfJit(sourcemap::ParseJitName(name), /*is_line=*/false);
  }
  // And of code of a line, in the function of this name. It is the line where lines are units.
  uint32_t UnitOfJitLine(std::string_view name, std::string_view file, uint32_t line);
  bool HasJitLines() const { return rules_.kind == sourcemap::UnitKind::kLine; }

  // Grows when there are more units.
  uint32_t growth() const { return static_cast<uint32_t>(objects_.size() + jit_units_.size()); }

  // The first object whose table the target could not be given, so that its samples belong to no
  // line; null: there is none.
  const Object* NotShared() const;

  // Objects in scope.
  const std::vector<Object>& objects() const { return objects_; }
  const sourcemap::UnitRules& rules() const { return rules_; }
  // By group: some object that was read has code of it.
  const std::vector<bool>& group_has_code() const { return group_has_code_; }
  // By pattern of --exclude, likewise.
  const std::vector<bool>& exclude_has_code() const { return exclude_has_code_; }
  // What several groups hold, see DerivedUnits.
  const std::vector<std::string>& overlaps() const { return overlaps_; }

  // The unit of the first kind of waits, where waits are units.
  uint32_t first_wait_kind() const { return static_cast<uint32_t>(rules_.groups.size()); }

  struct Unit {
    sourcemap::UnitDescription what;
    uint32_t object;  // index into objects()
  };
  bool Has(experiment::UnitId unit) const { return !PartsOf(unit).functions.empty(); }
  // The unit must exist.
  Unit Describe(experiment::UnitId unit) const;

  // Units that go by `name`, as a user types it: "main.cc:12" or with more of the path, a function
  // with or without scopes and parameters, a file, a library, a group, a call path of functions and
  // groups. "@" and a group of threads may follow; without, they are those of every group.
  std::vector<experiment::UnitId> Find(std::string_view name) const;

  // What `name` means without its group of threads. More than one thing: it is ambiguous.
  std::vector<experiment::UnitId> FindCode(std::string_view name) const;

  // The part of a name that is not found that names nothing: all of it, or of a call path one
  // function.
  std::string Unknown(std::string_view name) const;

  // Names that resemble one that was not found, best first.
  std::vector<std::string> Closest(std::string_view name) const;

 private:
  uint32_t FirstOfObjects() const {
    const bool has_wait_kinds = rules_.kind == sourcemap::UnitKind::kWait;
    return first_wait_kind() + (has_wait_kinds ? delay::kWaitKinds : 0);
  }
  // The object of a path; reads its table if it was not read. A new one is the last of objects_.
  Object& Load(const std::string& path, const std::function<void(double)>& progress);
  absl::Status ReadTable(const std::function<void(double)>& progress, Object* object);
  bool SymbolsWillDo(const Object& object) const;
  static absl::Status TakeTable(const absl::StatusOr<sourcemap::LineTableResult>& read,
                                Object* object);
  absl::Status Derive(Object* object);
  // Forgets the object that was read last. From now on, its path is out of scope.
  void PassOver(const std::string& path);
  void AnswerOne(SharedControl& control, shared::ModuleSlot& slot);
  bool IsInScope(const sourcemap::JitFunction& function) const;
  uint32_t UnitOfJit(const sourcemap::JitFunction& function, bool is_line);
  Object& JitObject();
  sourcemap::UnitDescription DescribeOfNoObject(uint32_t unit) const;
  template <typename Visit>
  void ForEachUnit(Visit visit) const;
  Unit DescribePart(experiment::UnitId unit) const;
  std::vector<experiment::UnitId> FindPart(std::string_view name) const;
  bool AreCallPaths() const { return rules_.kind == sourcemap::UnitKind::kPath; }
  void KeepParts();
  void UsePaths(shared::ControlBlock& control);
  struct Parts {
    // The innermost first, or the unit itself where it is no path. Empty where there is no such
    // unit.
    std::vector<experiment::UnitId> functions;
    std::string thread_group;
  };
  Parts PartsOf(experiment::UnitId unit) const;
  Parts PartsInTable(experiment::UnitId unit) const;
  // The place of a name's "@" before a group of threads; the end of the name: it has none.
  size_t EndOfCode(std::string_view name) const;
  // A function's name in a path: with its place where several have the name.
  std::string NameInPath(const sourcemap::UnitDescription& function) const;

  sourcemap::BinaryScope binary_scope_;
  sourcemap::SourceScope source_scope_;
  sourcemap::UnitRules rules_;
  std::string program_;
  std::string left_out_;
  std::vector<Object> objects_;
  std::map<std::string, size_t> object_by_path_;
  std::set<std::string> passed_over_;  // other programs than the first, without debug information
  std::vector<bool> group_has_code_;
  std::vector<bool> exclude_has_code_;
  std::vector<std::string> overlaps_;
  std::map<std::string, int> functions_called_;     // how many have the name, where units are paths
  std::unique_ptr<shared::CallPaths> first_paths_;  // until there is a control block
  shared::CallPaths* paths_ = nullptr;              // where units have parts
  std::vector<std::string> thread_groups_;          // with the others; empty: units are not split
  std::bitset<shared::kMaxModules> answered_;       // by module slot
  uint32_t next_unit_ = 0;
  size_t jit_object_ = 0;  // in objects_; there where jit_units_ is not empty
  absl::flat_hash_map<std::string, uint32_t> jit_units_;
};

}  // namespace coz::supervisor

#endif  // COZ_TOOLS_SUPERVISOR_UNIT_INDEX_H_
