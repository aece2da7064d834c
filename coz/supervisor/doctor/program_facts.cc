#include "coz/supervisor/doctor/program_facts.h"

#include <sys/stat.h>
#include <sys/xattr.h>

#include "coz/sourcemap/cache.h"
#include "coz/sourcemap/scope.h"
#include "coz/supervisor/doctor/own_signals.h"
#include "coz/supervisor/points/own_calls.h"
#include "coz/supervisor/target/child_process.h"

namespace coz::supervisor {

bool GainsRights(const std::string& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) return false;
  if ((status.st_mode & (S_ISUID | S_ISGID)) != 0) return true;
  return getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

absl::StatusOr<ProgramFacts> LookAtProgram(const std::string& name) {
  const absl::StatusOr<std::string> path = FindProgram(name);
  if (!path.ok()) return path.status();
  absl::StatusOr<sourcemap::BinaryInfo> info = sourcemap::DescribeBinary(*path);
  if (!info.ok()) return info.status();
  ProgramFacts facts;
  facts.info = *std::move(info);
  facts.word = name;
  if (facts.info.kind != sourcemap::BinaryInfo::Kind::kElf) return facts;
  facts.gains_rights = GainsRights(*path);
  facts.marks = points::FindMarksInFile(*path);
  facts.waits = FindUnseenWaits(*path);
  if (facts.info.is_go) FindOwnCalls(*path, &facts.why_no_goroutines);
  if (facts.info.is_go && facts.why_no_goroutines.empty()) facts.waits.own_system_calls.clear();
  facts.takes_signals_itself = TakesSignalsItself(facts.info);
  if (facts.info.debug_path.empty()) return facts;
  const auto summary = sourcemap::SummarizeDebugInfo(*path);
  if (summary.ok()) facts.debug = *summary;
  const auto table = sourcemap::LoadLineTable(*path, sourcemap::SourceScope());
  if (!table.ok()) return facts;
  facts.lines_in_scope = table->table().line_count();
  table->table().ForEachInterval(
      [&facts](uint64_t begin, uint64_t end, uint32_t) { facts.bytes_in_scope += end - begin; });
  return facts;
}

}  // namespace coz::supervisor
