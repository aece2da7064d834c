#!/bin/bash
# Formats the C and C++ files that differ from a revision (default HEAD), or all with --all. --check only says which would change.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
mode=-i
all=
base=HEAD
for argument in "$@"; do
  case $argument in
    --check) mode='--dry-run --Werror' ;;
    --all) all=1 ;;
    *) base=$argument ;;
  esac
done
if [[ $all ]]; then
  mapfile -t files < <(git ls-files '*.cc' '*.h' '*.c')
else
  mapfile -t files < <({ git diff --name-only --diff-filter=d "$base"; git ls-files --others --exclude-standard; } | grep -E '\.(cc|h|c)$' | sort -u)
fi
((${#files[@]})) || exit 0
# shellcheck disable=SC2086
exec clang-format $mode "${files[@]}"
