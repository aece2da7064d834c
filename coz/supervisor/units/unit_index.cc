#include "coz/supervisor/units/unit_index.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "coz/base/call_path_name.h"
#include "coz/points/closest_names.h"
#include "coz/points/point_spec.h"
#include "coz/sourcemap/go_functions.h"
#include "coz/supervisor/target/shared_text.h"

namespace coz::supervisor {
namespace {

static_assert(sourcemap::kMaxPathFunctions == shared::kMaxPathFunctions);

// In the names of call paths: a caller that is too far out, or behind a broken call chain.
constexpr char kUnknownFunction[] = "?";

// A name that means more paths than this is refused anyway.
constexpr size_t kMostPathsFound = 16;

constexpr uint32_t kMostJitUnits = 1 << 16;

std::string RealPath(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  return error ? path : real.string();
}

// What is none is not opened: a pipe would hold coz up.
bool IsFile(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

// Tells a file from another that has been put in its place; empty where there is none.
std::string FileVersion(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return "";
  return absl::StrFormat("%d %d %d %d.%d", status.st_dev, status.st_ino, status.st_size,
                         status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

bool IsPathSuffix(std::string_view path, std::string_view suffix) {
  if (suffix.empty() || suffix.size() > path.size()) return false;
  if (path.substr(path.size() - suffix.size()) != suffix) return false;
  return suffix.size() == path.size() || suffix.front() == '/' ||
         path[path.size() - suffix.size() - 1] == '/';
}

constexpr std::string_view kDeclaredAt = " of ";

// "find(int)", "find" and "Table::find" all name ns::Table::find(int).
bool IsFunctionCalled(std::string_view function, std::string_view name) {
  for (std::string_view candidate : {function, sourcemap::WithoutParameters(function)}) {
    if (candidate == name) return true;
    if (candidate.size() > name.size() + 2 &&
        candidate.substr(candidate.size() - name.size()) == name &&
        candidate.substr(candidate.size() - name.size() - 2, 2) == "::") {
      return true;
    }
  }
  return false;
}

// "FUNCTION of FILE:LINE" tells functions of one name apart, closures for example.
bool IsDeclaredAs(const sourcemap::UnitDescription& unit, std::string_view name) {
  const size_t of = name.rfind(kDeclaredAt);
  return of != std::string_view::npos && IsFunctionCalled(unit.function, name.substr(0, of)) &&
         IsPathSuffix(absl::StrCat(unit.file, ":", unit.line),
                      name.substr(of + kDeclaredAt.size()));
}

bool IsFunction(const sourcemap::UnitDescription& unit) {
  return unit.kind == sourcemap::UnitKind::kFunction || unit.kind == sourcemap::UnitKind::kPath;
}

bool IsCalled(const sourcemap::UnitDescription& unit, std::string_view name) {
  switch (unit.kind) {
    case sourcemap::UnitKind::kFunction:
    case sourcemap::UnitKind::kPath:
      return IsFunctionCalled(unit.function, name) || IsDeclaredAs(unit, name);
    case sourcemap::UnitKind::kGroup:
      return unit.function == name;
    default:
      return IsPathSuffix(unit.Name(), name);
  }
}

// "Rounds" names ns::Rounds<int>(long).
bool IsTemplateCalled(const sourcemap::UnitDescription& unit, std::string_view name) {
  const absl::string_view wanted(name.data(), name.size());
  return IsFunction(unit) && !points::IsGlob(wanted) &&
         points::MatchesFunction(wanted, "", unit.function);
}

}  // namespace

sourcemap::UnitDescription UnitIndex::Object::Describe(uint32_t index) const {
  if (index < units.size()) return units[index];
  if (units_table == nullptr) return {kind, "", 0, kUnknownFunction};
  const sourcemap::Line line = units_table->table().line(index);
  return {kind, line.file, line.line, line.function};
}

void UnitIndex::LeaveOut(const std::string& path) { left_out_ = RealPath(path); }

// Whether functions may be those of the symbol table.
bool UnitIndex::SymbolsWillDo(const Object& object) const {
  // Nobody has asked for the functions of the shells and tools that the program starts.
  const bool is_wanted = object.path == program_ || binary_scope_.Contains(object.path, false);
  const bool are_functions =
      rules_.kind == sourcemap::UnitKind::kFunction || rules_.kind == sourcemap::UnitKind::kPath;
  // A scope of source files would be ignored without debug information.
  return are_functions && is_wanted && source_scope_.patterns().empty();
}

absl::Status UnitIndex::ReadTable(const std::function<void(double)>& progress, Object* object) {
  if (rules_.kind == sourcemap::UnitKind::kLibrary) {
    return TakeTable(sourcemap::ReadWholeBinary(object->path), object);
  }
  sourcemap::ReadOptions options;
  options.progress = progress;
  options.detail = rules_.Detail();
  absl::StatusOr<sourcemap::LoadedTable> table =
      sourcemap::LoadLineTable(object->path, source_scope_, options);
  // Debug information may be that of a library alone which is linked in.
  const bool has_lines = table.ok() && table->table().line_count() > 0;
  const bool is_without = table.ok() || absl::IsFailedPrecondition(table.status());
  if (!has_lines && is_without && SymbolsWillDo(*object)) {
    const auto symbols = sourcemap::ReadSymbolTable(object->path);
    if (symbols.ok() || !table.ok()) return TakeTable(symbols, object);
  }
  if (!table.ok()) return table.status();
  object->table = std::make_shared<sourcemap::LoadedTable>(*std::move(table));
  return absl::OkStatus();
}

absl::Status UnitIndex::TakeTable(const absl::StatusOr<sourcemap::LineTableResult>& read,
                                  Object* object) {
  if (!read.ok()) return read.status();
  absl::StatusOr<sourcemap::LoadedTable> held = sourcemap::HoldTable(read->image);
  if (!held.ok()) return held.status();
  object->table = std::make_shared<sourcemap::LoadedTable>(*std::move(held));
  return absl::OkStatus();
}

absl::Status UnitIndex::Derive(Object* object) {
  if (rules_.AreLines()) {
    object->kind = rules_.kind;
    object->units_table = object->table;
    return absl::OkStatus();
  }
  absl::StatusOr<sourcemap::DerivedUnits> derived =
      sourcemap::DeriveUnits(object->table->table(), object->path, rules_);
  if (!derived.ok()) return derived.status();
  absl::StatusOr<sourcemap::LoadedTable> held = sourcemap::HoldTable(derived->image);
  if (!held.ok()) return held.status();
  object->units_table = std::make_shared<sourcemap::LoadedTable>(*std::move(held));
  object->units = std::move(derived->units);
  for (const std::vector<uint32_t>& path : derived->paths) {
    shared::InlinedPath& inlined = object->inlined_paths.emplace_back();
    inlined.count = static_cast<uint32_t>(path.size());
    std::copy(path.begin(), path.end(), inlined.lines);
  }
  if (AreCallPaths()) {
    for (const sourcemap::UnitDescription& unit : object->units) ++functions_called_[unit.function];
  }
  for (size_t i = 0; i < group_has_code_.size(); ++i) {
    group_has_code_[i] = group_has_code_[i] || derived->group_has_code[i];
  }
  for (size_t i = 0; i < exclude_has_code_.size(); ++i) {
    exclude_has_code_[i] = exclude_has_code_[i] || derived->exclude_has_code[i];
  }
  overlaps_.insert(overlaps_.end(), derived->overlaps.begin(), derived->overlaps.end());
  return absl::OkStatus();
}

UnitIndex::Object& UnitIndex::Load(const std::string& path,
                                   const std::function<void(double)>& progress) {
  const std::string version = FileVersion(path);
  const auto known = object_by_path_.find(path);
  // A plugin may have been built anew before it was opened again.
  if (known != object_by_path_.end() && objects_[known->second].file_version == version) {
    return objects_[known->second];
  }
  object_by_path_[path] = objects_.size();
  Object& object = objects_.emplace_back();
  object.path = path;
  object.file_version = version;
  object.first_unit = next_unit_;
  absl::Status status = ReadTable(progress, &object);
  if (status.ok()) status = Derive(&object);
  if (status.ok()) {
    next_unit_ += object.unit_count() - static_cast<uint32_t>(rules_.groups.size());
  } else {
    object.table.reset();
    object.why_no_table = std::string(status.message());
  }
  return object;
}

absl::Status UnitIndex::Prepare(const std::string& program,
                                const std::function<void(double)>& progress, bool may_lack_table) {
  program_ = RealPath(program);
  if (!binary_scope_.Contains(program_, true)) return absl::OkStatus();
  const Object& object = Load(program_, progress);
  const bool only_program = binary_scope_.patterns() == std::vector<std::string>{"MAIN"};
  // Waits have kinds without lines.
  const bool needs_table = rules_.kind != sourcemap::UnitKind::kWait;
  if (object.table == nullptr && only_program && needs_table && !may_lack_table) {
    return absl::FailedPreconditionError(object.why_no_table);
  }
  // Of a launcher nobody expects lines.
  if (object.table == nullptr && may_lack_table) PassOver(program_);
  return absl::OkStatus();
}

void UnitIndex::PassOver(const std::string& path) {
  passed_over_.insert(path);
  object_by_path_.erase(path);
  objects_.pop_back();
}

void UnitIndex::AnswerOne(SharedControl& control, shared::ModuleSlot& slot) {
  const std::string path = RealPath(SharedText(slot.path));
  // What has no file (the vDSO) has a path without a folder, or none.
  if (path.find('/') == std::string::npos || path == left_out_ || !IsFile(path) ||
      !binary_scope_.Contains(path, slot.is_program != 0)) {
    slot.state.store(shared::ModuleState::kNotMapped, std::memory_order_release);
    return;
  }
  if (passed_over_.count(path) != 0) {
    slot.state.store(shared::ModuleState::kNotMapped, std::memory_order_release);
    return;
  }
  Object& object = Load(path, nullptr);
  // Nobody has asked for the shells and tools that the program starts.
  if (object.table == nullptr && path != program_ && !binary_scope_.Contains(path, false)) {
    PassOver(path);
    slot.state.store(shared::ModuleState::kNotMapped, std::memory_order_release);
    return;
  }
  object.loaded = true;
  object.load_bias = slot.load_bias;
  if (object.table == nullptr) {
    slot.state.store(shared::ModuleState::kNotMapped, std::memory_order_release);
    return;
  }
  if (object.table_offset == 0) {
    const absl::StatusOr<uint64_t> offset =
        control.Append(object.units_table->fd(), object.units_table->size_bytes());
    if (!offset.ok()) {
      object.why_no_table = std::string(offset.status().message());
      object.is_unshared = true;
      slot.state.store(shared::ModuleState::kNotMapped, std::memory_order_release);
      return;
    }
    object.table_offset = *offset;
    const absl::StatusOr<uint64_t> paths =
        control.Append({reinterpret_cast<const char*>(object.inlined_paths.data()),
                        object.inlined_paths.size() * sizeof(shared::InlinedPath)});
    // Without them, what is inlined has no callers by inlining.
    object.inlined_paths_offset = paths.ok() ? *paths : 0;
  }
  slot.unit_lines = object.unit_count();
  slot.inlined_paths =
      object.inlined_paths_offset == 0 ? 0 : static_cast<uint32_t>(object.inlined_paths.size());
  slot.inlined_paths_offset = object.inlined_paths_offset;
  slot.table_offset = object.table_offset;
  slot.table_bytes = object.units_table->size_bytes();
  slot.common_units = static_cast<uint32_t>(rules_.groups.size());
  slot.first_unit = object.first_unit;
  if (slot.is_program != 0) {
    const sourcemap::GoFunctionTable go_functions = sourcemap::FindGoFunctions(path);
    slot.go_functions_address = go_functions.address;
    slot.go_functions_bytes = go_functions.bytes;
  }
  slot.state.store(shared::ModuleState::kTableReady, std::memory_order_release);
}

const UnitIndex::Object* UnitIndex::NotShared() const {
  const auto object = std::find_if(objects_.begin(), objects_.end(),
                                   [](const Object& one) { return one.is_unshared; });
  return object == objects_.end() ? nullptr : &*object;
}

bool UnitIndex::TakesJitCode() const {
  const bool has_units = rules_.kind == sourcemap::UnitKind::kLine ||
                         rules_.kind == sourcemap::UnitKind::kFunction ||
                         rules_.kind == sourcemap::UnitKind::kLibrary;
  return has_units && binary_scope_.Contains(kJitCode, false);
}

// Without a source scope: all but the runtime's own scripts.
bool UnitIndex::IsInScope(const sourcemap::JitFunction& function) const {
  if (!source_scope_.patterns().empty()) return source_scope_.Contains(function.file);
  return function.file.rfind("node:", 0) != 0;
}

UnitIndex::Object& UnitIndex::JitObject() {
  if (!jit_units_.empty()) return objects_[jit_object_];
  jit_object_ = objects_.size();
  Object& object = objects_.emplace_back();
  object.path = kJitCode;
  object.is_jit = true;
  object.loaded = true;
  object.kind = rules_.kind;
  object.first_unit = next_unit_;
  next_unit_ += kMostJitUnits;
  // As in tables.
  for (uint32_t i = 0; i < rules_.groups.size(); ++i) {
    object.units.push_back(DescribeOfNoObject(i));
  }
  return object;
}

uint32_t UnitIndex::UnitOfJitLine(std::string_view name, std::string_view file, uint32_t line) {
  sourcemap::JitFunction function = sourcemap::ParseJitName(name);
  const std::string clean = sourcemap::CleanJitFile(file);
  // Node 20 writes memory that it has freed in place of some names. The function's name has a file.
  const bool is_name = clean.front() == '/' || clean.rfind("node:", 0) == 0;
  if (function.file.empty() || is_name) function.file = clean;
  function.line = line;
  return UnitOfJit(function, HasJitLines());
}

uint32_t UnitIndex::UnitOfJit(const sourcemap::JitFunction& function, bool is_line) {
  if (!IsInScope(function)) return shared::kNoUnit;
  const bool is_library = rules_.kind == sourcemap::UnitKind::kLibrary;
  const auto matches = [&](const sourcemap::UnitPattern& pattern) {
    if (is_library) return pattern.MatchesBinary(kJitCode);
    return pattern.MatchesCode(function.file, function.line, function.function);
  };
  for (size_t i = 0; i < rules_.exclude.size(); ++i) {
    if (!matches(rules_.exclude[i])) continue;
    exclude_has_code_[i] = true;
    return shared::kNoUnit;
  }
  for (size_t i = 0; i < rules_.groups.size(); ++i) {
    const std::vector<sourcemap::UnitPattern>& patterns = rules_.groups[i].patterns;
    if (std::none_of(patterns.begin(), patterns.end(), matches)) continue;
    group_has_code_[i] = true;
    return static_cast<uint32_t>(i);
  }
  const std::string key = is_library ? kJitCode
                                     : absl::StrCat(is_line ? "" : function.function, "\n",
                                                    function.file, "\n", function.line);
  if (const auto known = jit_units_.find(key); known != jit_units_.end()) return known->second;
  if (jit_units_.size() == kMostJitUnits) return shared::kNoUnit;
  Object& object = JitObject();
  const uint32_t unit = object.first_unit + static_cast<uint32_t>(jit_units_.size());
  jit_units_.emplace(key, unit);
  const sourcemap::UnitKind kind =
      HasJitLines() && !is_line ? sourcemap::UnitKind::kFunction : rules_.kind;
  object.units.push_back(is_library ? sourcemap::UnitDescription{kind, kJitCode, 0, ""}
                                    : sourcemap::UnitDescription{kind, function.file, function.line,
                                                                 function.function});
  if (AreCallPaths()) ++functions_called_[function.function];
  return unit;
}

void UnitIndex::SplitByThreadGroup(std::vector<std::string> names) {
  if (names.empty()) return;
  thread_groups_ = std::move(names);
  thread_groups_.emplace_back(kOtherThreads);
  KeepParts();
}

void UnitIndex::KeepParts() {
  if (paths_ != nullptr) return;
  first_paths_ = std::make_unique<shared::CallPaths>();
  paths_ = first_paths_.get();
}

void UnitIndex::UsePaths(shared::ControlBlock& control) {
  if (paths_ != nullptr) paths_ = &control.paths;
}

void UnitIndex::Preannounce(SharedControl& shared) {
  shared::ControlBlock& control = shared.block();
  UsePaths(control);
  struct stat file;
  if (program_.size() >= shared::kModulePathBytes || stat(program_.c_str(), &file) != 0) return;
  shared::ModuleSlot& slot = control.modules[0];
  slot.is_program = 1;
  slot.device = file.st_dev;
  slot.inode = file.st_ino;
  slot.modified_ns = static_cast<uint64_t>(file.st_mtim.tv_sec) * 1000000000 +
                     static_cast<uint64_t>(file.st_mtim.tv_nsec);
  memcpy(slot.path, program_.c_str(), program_.size() + 1);
  answered_[0] = true;
  AnswerOne(shared, slot);
  control.module_count.store(1, std::memory_order_release);
}

void UnitIndex::Answer(SharedControl& shared) {
  shared::ControlBlock& control = shared.block();
  const uint32_t count =
      std::min(control.module_count.load(std::memory_order_acquire), shared::kMaxModules);
  for (uint32_t i = 0; i < count; ++i) {
    // A process that was killed may have left a slot half-written. Each is answered once: nobody
    // else announces a file in it.
    if (!answered_[i] && control.modules[i].state.load(std::memory_order_acquire) ==
                             shared::ModuleState::kAnnounced) {
      answered_[i] = true;
      AnswerOne(shared, control.modules[i]);
    }
  }
  if (count != 0 && !objects_.empty() && objects_[0].path == SharedText(control.modules[0].path)) {
    objects_[0].load_bias = control.modules[0].load_bias;  // the process knows it only now
  }
}

sourcemap::UnitDescription UnitIndex::DescribeOfNoObject(uint32_t unit) const {
  if (unit < rules_.groups.size()) {
    return {sourcemap::UnitKind::kGroup, "", 0, rules_.groups[unit].name};
  }
  return {sourcemap::UnitKind::kWait, "", 0, delay::kWaitKindNames[unit - first_wait_kind()]};
}

template <typename Visit>
void UnitIndex::ForEachUnit(Visit visit) const {
  const uint32_t groups = static_cast<uint32_t>(rules_.groups.size());
  for (uint32_t i = 0; i < FirstOfObjects(); ++i) visit(i, DescribeOfNoObject(i));
  for (const Object& object : objects_) {
    if (!object.has_units()) continue;
    for (uint32_t i = groups; i < object.unit_count(); ++i) {
      visit(object.first_unit + i - groups, object.Describe(i));
    }
  }
}

UnitIndex::Parts UnitIndex::PartsOf(experiment::UnitId unit) const {
  if (paths_ != nullptr) return PartsInTable(unit);
  if (unit >= next_unit_) return {};
  return {{unit}, ""};
}

// The target may have written anything into the table.
UnitIndex::Parts UnitIndex::PartsInTable(experiment::UnitId unit) const {
  uint32_t parts[shared::kMaxUnitParts];
  const uint32_t count = shared::PartsOfUnit(*paths_, unit, parts);
  const uint32_t outermost = thread_groups_.empty() ? 0 : 1;
  if (count <= outermost || (count > outermost + 1 && !AreCallPaths())) return {};
  Parts found;
  if (outermost != 0) {
    const uint32_t group = parts[0] - shared::kFirstThreadGroup;
    if (group >= thread_groups_.size()) return {};
    found.thread_group = thread_groups_[group];
  }
  for (uint32_t i = count; i-- > outermost;) {
    const bool is_unknown = parts[i] == shared::kUnknownCaller && !found.functions.empty();
    if (parts[i] >= next_unit_ && !is_unknown) return {};
    found.functions.push_back(parts[i]);
  }
  return found;
}

std::string UnitIndex::NameInPath(const sourcemap::UnitDescription& function) const {
  const auto called = functions_called_.find(function.function);
  if (called == functions_called_.end() || called->second < 2 || function.file.empty()) {
    return function.function;
  }
  const std::string file = function.file.substr(function.file.rfind('/') + 1);
  return absl::StrFormat("%s (%s:%d)", function.function, file, function.line);
}

UnitIndex::Unit UnitIndex::Describe(experiment::UnitId unit) const {
  const auto [functions, thread_group] = PartsOf(unit);
  // Only a program that writes into the table itself makes a unit of nothing.
  if (functions.empty()) return {{rules_.kind, "", 0, kUnknownFunction}, 0};
  Unit described = DescribePart(functions.front());
  described.what.thread_group = thread_group;
  if (functions.size() == 1) return described;
  described.what.kind = sourcemap::UnitKind::kPath;
  std::vector<std::string> names = {described.what.function};
  for (size_t i = 1; i < functions.size(); ++i) {
    names.push_back(functions[i] == shared::kUnknownCaller
                        ? kUnknownFunction
                        : NameInPath(DescribePart(functions[i]).what));
  }
  described.what.function = JoinCallPath(names);
  return described;
}

UnitIndex::Unit UnitIndex::DescribePart(experiment::UnitId unit) const {
  if (unit < FirstOfObjects()) return {DescribeOfNoObject(unit), 0};
  uint32_t index = 0;
  for (uint32_t i = 0; i < objects_.size(); ++i) {
    if (objects_[i].has_units() && objects_[i].first_unit <= unit) index = i;
  }
  const uint32_t groups = static_cast<uint32_t>(rules_.groups.size());
  return {objects_[index].Describe(unit - objects_[index].first_unit + groups), index};
}

size_t UnitIndex::EndOfCode(std::string_view name) const {
  const size_t at = name.rfind('@');
  if (at == std::string_view::npos) return name.size();
  const bool is_group = std::find(thread_groups_.begin(), thread_groups_.end(),
                                  name.substr(at + 1)) != thread_groups_.end();
  return is_group ? at : name.size();
}

std::vector<experiment::UnitId> UnitIndex::Find(std::string_view name) const {
  std::vector<experiment::UnitId> found = FindCode(name);
  if (thread_groups_.empty()) return found;
  const size_t end = EndOfCode(name);
  std::vector<experiment::UnitId> split;
  for (experiment::UnitId code : found) {
    for (uint32_t group = 0; group < thread_groups_.size(); ++group) {
      if (end != name.size() && name.substr(end + 1) != thread_groups_[group]) continue;
      const uint32_t unit = shared::UnitInThreadGroup(*paths_, code, group);
      if (unit != shared::kNoUnit) split.push_back(unit);
    }
  }
  return split;
}

std::vector<experiment::UnitId> UnitIndex::FindCode(std::string_view name) const {
  name = name.substr(0, EndOfCode(name));
  if (!AreCallPaths()) return FindPart(name);
  std::vector<shared::CallPath> paths = {shared::CallPath(shared::kMaxPathFunctions - 1)};
  for (const std::string& part : SplitCallPath(name)) {
    std::vector<shared::CallPath> longer;
    for (experiment::UnitId function : FindPart(part)) {
      if (function == shared::kUnknownCaller && paths.front().count() == 0) continue;
      for (shared::CallPath path : paths) {
        path.Add(function);
        if (longer.size() < kMostPathsFound) longer.push_back(path);
      }
    }
    paths = std::move(longer);
    if (paths.empty()) return {};
  }
  std::vector<experiment::UnitId> found;
  for (const shared::CallPath& path : paths) {
    const uint32_t unit = shared::PathUnit(*paths_, path);
    if (unit != shared::kNoUnit) found.push_back(unit);
  }
  return found;
}

std::string UnitIndex::Unknown(std::string_view name) const {
  name = name.substr(0, EndOfCode(name));
  if (!AreCallPaths()) return std::string(name);
  for (const std::string& part : SplitCallPath(name)) {
    if (FindPart(part).empty()) return part;
  }
  return std::string(name);
}

std::vector<experiment::UnitId> UnitIndex::FindPart(std::string_view name) const {
  std::vector<experiment::UnitId> found;
  if (AreCallPaths() && name == kUnknownFunction) return {shared::kUnknownCaller};
  ForEachUnit([&](experiment::UnitId id, const sourcemap::UnitDescription& unit) {
    const bool is_called = IsCalled(unit, name) || (AreCallPaths() && NameInPath(unit) == name);
    if (!is_called) return;
    if (unit.kind == sourcemap::UnitKind::kGroup && !group_has_code_[id]) return;
    found.push_back(id);
  });
  if (!found.empty()) return found;
  ForEachUnit([&](experiment::UnitId id, const sourcemap::UnitDescription& unit) {
    if (IsTemplateCalled(unit, name)) found.push_back(id);
  });
  return found;
}

std::vector<std::string> UnitIndex::Closest(std::string_view name) const {
  const std::string unknown = Unknown(name);
  points::ClosestNames closest(unknown);
  ForEachUnit([&](experiment::UnitId, const sourcemap::UnitDescription& unit) {
    if (unit.kind == sourcemap::UnitKind::kLine) {
      closest.AddLine(unit.file, unit.line);
      if (!closest.wants_line()) closest.Add(sourcemap::WithoutParameters(unit.function));
    } else {
      closest.Add(IsFunction(unit) ? points::WithoutArguments(unit.function) : unit.Name());
    }
  });
  return closest.Best();
}

}  // namespace coz::supervisor
