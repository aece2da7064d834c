#include "tools/process_entry.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "coz/base/command_name.h"
#include "coz/base/file_text.h"
#include "coz/supervisor/target/container_entry.h"
#include "tools/command_line.h"

namespace coz {

bool IsElsewhere(pid_t pid, const std::string& runtime_library) {
  return supervisor::IsInContainer(pid) || supervisor::IsHiddenFrom(pid, runtime_library);
}

absl::StatusOr<pid_t> GoWhereProcessIs(pid_t pid, const std::string& said_at_its_end,
                                       std::string* runtime_library) {
  const std::string library = FileText(*runtime_library);
  const absl::StatusOr<pid_t> inside =
      supervisor::EnterContainer(pid, WithCommandName(said_at_its_end));
  if (!inside.ok()) return inside.status();
  absl::StatusOr<std::string> copy = supervisor::PutLibrary(library);
  if (!copy.ok()) return copy.status();
  *runtime_library = *std::move(copy);
  if (*inside != pid) {
    Say(absl::StrFormat("process %d is process %d of its container", pid, *inside));
  }
  return *inside;
}

}  // namespace coz
