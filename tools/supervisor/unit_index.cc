#include "tools/supervisor/unit_index.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

namespace coz {
namespace {

std::string RealPath(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  return error ? path : real.string();
}

}  // namespace

UnitIndex::Object& UnitIndex::Load(const std::string& path,
                                   const std::function<void(double)>& progress) {
  const auto known = object_by_path_.find(path);
  if (known != object_by_path_.end()) return objects_[known->second];
  object_by_path_[path] = objects_.size();
  Object& object = objects_.emplace_back();
  object.path = path;
  object.first_unit = next_unit_;
  ReadOptions options;
  options.progress = progress;
  absl::StatusOr<LoadedTable> table = LoadLineTable(path, source_scope_, options);
  if (table.ok()) {
    object.table = std::make_shared<LoadedTable>(*std::move(table));
    next_unit_ += object.table->table().line_count();
  } else {
    object.why_no_table = std::string(table.status().message());
  }
  return object;
}

absl::Status UnitIndex::Prepare(const std::string& program,
                                const std::function<void(double)>& progress, bool may_lack_table) {
  program_ = RealPath(program);
  if (!binary_scope_.Contains(program_, true)) return absl::OkStatus();
  const Object& object = Load(program_, progress);
  const bool only_program = binary_scope_.patterns() == std::vector<std::string>{"MAIN"};
  if (object.table == nullptr && only_program && !may_lack_table) {
    return absl::FailedPreconditionError(object.why_no_table);
  }
  return absl::OkStatus();
}

void UnitIndex::AnswerOne(ModuleSlot& slot) {
  const std::string path = RealPath(slot.path);
  // What has no file (the vDSO) has an empty path.
  if (path.empty() || !binary_scope_.Contains(path, slot.is_program != 0)) {
    slot.state.store(ModuleState::kNotMapped, std::memory_order_release);
    return;
  }
  if (passed_over_.count(path) != 0) {
    slot.state.store(ModuleState::kNotMapped, std::memory_order_release);
    return;
  }
  Object& object = Load(path, nullptr);
  // Nobody has asked for the shells and tools that the program starts.
  if (object.table == nullptr && path != program_ && !binary_scope_.Contains(path, false)) {
    passed_over_.insert(path);
    object_by_path_.erase(path);
    objects_.pop_back();
    slot.state.store(ModuleState::kNotMapped, std::memory_order_release);
    return;
  }
  object.loaded = true;
  object.load_bias = slot.load_bias;
  if (object.table == nullptr) {
    slot.state.store(ModuleState::kNotMapped, std::memory_order_release);
    return;
  }
  slot.table_fd = object.table->fd();
  slot.table_bytes = object.table->size_bytes();
  slot.first_unit = object.first_unit;
  slot.state.store(ModuleState::kTableReady, std::memory_order_release);
}

void UnitIndex::Preannounce(ControlBlock& control) {
  struct stat file;
  if (program_.size() >= kModulePathBytes || stat(program_.c_str(), &file) != 0) return;
  ModuleSlot& slot = control.modules[0];
  slot.is_program = 1;
  slot.device = file.st_dev;
  slot.inode = file.st_ino;
  strcpy(slot.path, program_.c_str());
  AnswerOne(slot);
  control.module_count.store(1, std::memory_order_release);
}

void UnitIndex::Answer(ControlBlock& control) {
  const uint32_t count =
      std::min(control.module_count.load(std::memory_order_acquire), kMaxModules);
  for (uint32_t i = 0; i < count; ++i) {
    // A process that was killed may have left a slot half-written.
    if (control.modules[i].state.load(std::memory_order_acquire) == ModuleState::kAnnounced) {
      AnswerOne(control.modules[i]);
    }
  }
  if (count != 0 && !objects_.empty() && objects_[0].path == control.modules[0].path) {
    objects_[0].load_bias = control.modules[0].load_bias;  // the process knows it only now
  }
}

UnitIndex::Unit UnitIndex::Describe(UnitId unit) const {
  uint32_t index = 0;
  for (uint32_t i = 0; i < objects_.size(); ++i) {
    if (objects_[i].table != nullptr && objects_[i].first_unit <= unit) index = i;
  }
  return {objects_[index].table->table().line(unit - objects_[index].first_unit), index};
}

std::vector<UnitId> UnitIndex::Find(std::string_view file_line) const {
  std::vector<UnitId> found;
  for (const Object& object : objects_) {
    if (object.table == nullptr) continue;
    std::array<uint32_t, 64> lines;
    const uint32_t count = object.table->table().FindLines(file_line, lines.data(), lines.size());
    for (uint32_t i = 0; i < std::min<uint32_t>(count, lines.size()); ++i) {
      found.push_back(object.first_unit + lines[i]);
    }
  }
  return found;
}

}  // namespace coz
