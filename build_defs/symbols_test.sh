#!/bin/bash
# Compares what the given archives leave undefined with the list of what handler code may call.
# Usage: symbols_test.sh ALLOWED_SYMBOLS LIBRARY…
# Of the libraries the position independent archives count, as they go into libcoz.so.
set -euo pipefail
allowed=$1
shift
archives=()
for library in "$@"; do
  [[ $library == *.pic.a ]] && archives+=("$library")
done
[[ ${#archives[@]} -ge 8 ]] || { echo "too few archives: ${archives[*]}"; exit 1; }

defined=$(nm --defined-only --extern-only --format=posix "${archives[@]}" |
  awk 'NF > 1 { print $1 }' | sort -u)
undefined=$(nm --undefined-only --format=posix "${archives[@]}" |
  awk 'NF > 1 { print $1 }' | sort -u)
[[ $undefined == *dlsym* ]] || { echo "nm read nothing useful"; exit 1; }

surprises=$(comm -23 <(echo "$undefined") <(
  { grep -v '^#' "$allowed"; echo "$defined"; } | sort -u))
if [[ -n $surprises ]]; then
  echo "Handler-safe code calls what is not on $allowed:"
  echo "$surprises" | c++filt
  exit 1
fi
