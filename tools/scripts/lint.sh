#!/bin/bash
# Runs clang-tidy over the C++ sources that differ from a revision (default HEAD), with those beside
# such a header, or over all with --all. Build first: they include files that Bazel makes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
if [[ ${1-} == --all ]]; then
  mapfile -t files < <(git ls-files '*.cc')
else
  mapfile -t files < <(git diff --name-only --diff-filter=d "${1:-HEAD}" -- '*.cc' '*.h' | sed 's/\.h$/.cc/' | sort -u |
    while read -r file; do if [[ -f $file ]]; then echo "$file"; fi; done)
fi
if ((${#files[@]} == 0)); then
  echo "lint.sh: no source to look at"
  exit 0
fi
if [[ ${1-} == --all ]]; then tools/scripts/compile_commands.py; else tools/scripts/compile_commands.py "${files[@]}"; fi
printf '%s\0' "${files[@]}" | xargs -0 -P "$(nproc)" -n 1 clang-tidy-14 -p . --quiet
