#!/bin/bash
# Runs clang-tidy over the C++ sources that differ from a revision (default HEAD), with those beside
# such a header, the last changed first; or over all with --all. Build first: they include files that
# Bazel makes. Usage: lint.sh [--most M] [--seconds N] [REVISION | --all]
#
# It looks at M sources at most, so that the same commit always has the same result. After N seconds
# it says what it has not looked at. Exit status: 0 where it found nothing, be it that time ran out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
started=$(date +%s)
seconds=0
most=0
while [[ ${1-} == --seconds || ${1-} == --most ]]; do
  if [[ $1 == --seconds ]]; then seconds=$2; else most=$2; fi
  shift 2
done

# Sources of HEAD and of the working tree that differ from the revision $1, the last changed first.
changed() {
  {
    git diff --name-only HEAD
    git log --format= --name-only "$1..HEAD"
    git diff --name-only "$1"
  } | grep -E '\.(cc|h)$' | grep -Fxf <(git diff --name-only --diff-filter=d "$1") |
    sed 's/\.h$/.cc/' | awk '!seen[$0]++' || true
}

if [[ ${1-} == --all ]]; then
  mapfile -t files < <(git ls-files '*.cc')
else
  mapfile -t files < <(changed "${1:-HEAD}" | while read -r file; do if [[ -f $file ]]; then echo "$file"; fi; done)
fi
if ((${#files[@]})); then
  compiled=$(tools/scripts/compile_commands.py "${files[@]}")
  files=()
  while read -r file; do if [[ $file ]]; then files+=("$file"); fi; done <<<"$compiled"
fi
if ((most && ${#files[@]} > most)); then
  echo "lint.sh: the $most of ${#files[@]} sources that were changed last"
  files=("${files[@]:0:most}")
fi
if ((${#files[@]} == 0)); then
  echo "lint.sh: no source to look at"
  exit 0
fi

# One file, in a shell of xargs: 1 where clang-tidy finds something.
# shellcheck disable=SC2317
look_at() {
  local limit=0
  if ((seconds)); then
    limit=$((deadline - $(date +%s)))
    if ((limit <= 0)); then
      echo "$1" >>"$unseen"
      return 0
    fi
  fi
  local status=0
  timeout "$limit" clang-tidy-14 -p . --quiet --extra-arg=-U_FORTIFY_SOURCE "$1" || status=$?
  if ((status == 124)); then
    echo "$1" >>"$unseen"
    return 0
  fi
  return "$status"
}
unseen=$(mktemp)
trap 'rm -f "$unseen"' EXIT
deadline=$((started + seconds))
export -f look_at
export seconds deadline unseen
status=0
# shellcheck disable=SC2016
printf '%s\0' "${files[@]}" | xargs -0 -P "$(nproc)" -n 1 bash -c 'look_at "$1"' look_at || status=1
left=$(wc -l <"$unseen")
echo "lint.sh: looked at $((${#files[@]} - left)) of ${#files[@]} sources"
if ((left)); then
  echo "lint.sh: no time after $seconds s for the other $left; the next is $(head -n 1 "$unseen")"
fi
exit "$status"
