#!/bin/bash
# Checks the tree by rules that no compiler knows. Usage: tools/scripts/check.sh [CHECK...]
#
#   format        clang-format would change nothing
#   width         comments are at most 100 columns wide
#   links         what documents and comments refer to exists
#   includes      no room includes what it is not to know (docs/design.md, "Who includes what")
#   dependencies  nor do Bazel targets
#   signal_safe   what the sample handler is built of is tagged so
#   tidy          clang-tidy finds nothing in the sources that differ from COZ_CHECK_BASE (default origin/main): of
#                 those changed last, COZ_TIDY_SOURCES (default 30)
#
# Without a name: all of them. The exit status is 1 where one finds something.
# A check whose tool is missing says so and passes.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
checks=tools/scripts/checks
base=${COZ_CHECK_BASE:-origin/main}
tidy_sources=${COZ_TIDY_SOURCES:-30}

is_here() {
  command -v "$1" >/dev/null && return
  echo "$2: skipped, as $1 is not installed; run: apt-get install $1"
  return 1
}

format() {
  is_here clang-format-14 format || return 0
  local differ
  differ=$(git ls-files -z --cached --others --exclude-standard -- '*.cc' '*.h' '*.c' | xargs -0 -P "$(nproc)" -n 60 clang-format-14 --dry-run 2>&1 |
    sed -n 's/: warning: code should be clang-formatted.*//p' | cut -d: -f1 | sort | uniq -c)
  if [[ $differ ]]; then
    printf '%s\nformat: run: tools/scripts/format.sh --all\n' "$differ"
    return 1
  fi
  echo "format: clean"
}

width() { python3 $checks/width.py; }
links() { python3 $checks/links.py; }
includes() { python3 $checks/rooms.py; }

# The other two are tests, too: ./bazelw test //... has them.
dependencies() { ./bazelw test --noshow_progress --ui_event_filters=error //tools/scripts:dependencies_test; }
signal_safe() { ./bazelw test --noshow_progress --ui_event_filters=error //tools/scripts:signal_safe_test; }

tidy() {
  is_here clang-tidy-14 tidy || return 0
  if ! git rev-parse --quiet --verify "$base^{commit}" >/dev/null; then
    echo "tidy: skipped, as there is no revision $base; set COZ_CHECK_BASE"
    return 0
  fi
  tools/scripts/lint.sh --most "$tidy_sources" "$base" || return
  echo "tidy: clean"
}

wanted=("$@")
if ((${#wanted[@]} == 0)); then wanted=(format width links includes dependencies signal_safe tidy); fi
failed=()
for check in "${wanted[@]}"; do
  case $check in
    format | width | links | includes | dependencies | signal_safe | tidy) ;;
    *)
      echo "check.sh: there is no check '$check'; see the head of $0" >&2
      exit 2
      ;;
  esac
  "$check" || failed+=("$check")
done
if ((${#failed[@]})); then
  echo "check.sh: found something: ${failed[*]}"
  exit 1
fi
