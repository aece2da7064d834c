#include "coz/report/format/unit_kind.h"

namespace coz::report {

const char* UnitKindId(profile::UnitKind kind) {
  switch (kind) {
    case profile::UNIT_KIND_LINE:
      return "line";
    case profile::UNIT_KIND_FUNCTION:
      return "function";
    case profile::UNIT_KIND_FILE:
      return "file";
    case profile::UNIT_KIND_LIBRARY:
      return "library";
    case profile::UNIT_KIND_PATH:
      return "path";
    case profile::UNIT_KIND_GROUP:
      return "group";
    case profile::UNIT_KIND_WAIT:
      return "wait";
    default:
      return "unknown";
  }
}

}  // namespace coz::report
