#!/bin/bash
# Runs clang-tidy over the C++ files that differ from a revision (default HEAD), or over all with --all.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
./bazelw build --config=clang //... >/dev/null
python3 tools/scripts/compile_commands.py ./bazelw >/dev/null
if [[ ${1-} == --all ]]; then
  mapfile -t files < <(git ls-files '*.cc')
else
  mapfile -t files < <(git diff --name-only --diff-filter=d "${1:-HEAD}" -- '*.cc')
fi
((${#files[@]})) || exit 0
exec clang-tidy -p . --quiet "${files[@]}"
