#!/bin/bash
# Measures the CPU time (user and system) of build_line_table and of other DWARF readers on the same
# file, in turn. Elapsed time is not used, because neighbours disturb it. Prints the shortest time
# of each.
# Usage: compare.sh <build_line_table> [<elf file>]
set -euo pipefail
ours=$1
file=${2:-bench/sourcemap/large_program}
[[ -e $file ]] || file=${COZ_CALLER_PWD:-.}/$file
rounds=3

section_bytes() {
  local hex
  hex=$(readelf --section-headers --wide "$file" | sed 's/^ *\[ *[0-9]*\]//' | awk -v name="$1" '$1 == name { print $5 }')
  echo $((16#${hex:-0}))
}
echo "file            $file"
echo ".debug_info     $(section_bytes .debug_info) bytes; .debug_line $(section_bytes .debug_line) bytes"
echo "load            $(cut -d' ' -f1-3 /proc/loadavg)"
echo "default source scope:"
"$ours" "$file"
echo "everything in scope:"
"$ours" "$file" %

commands=("$ours $file" "$ours $file %")
# These readers decode the same lines, but no inlined calls. eu-readelf takes minutes, so it is left
# out.
for other in "readelf --debug-dump=decodedline" "llvm-dwarfdump-14 --debug-line"; do
  if command -v "${other%% *}" >/dev/null; then
    commands+=("$other $file")
  else
    echo "skipped         ${other%% *} is not installed"
  fi
done

declare -A shortest_ms
TIMEFORMAT='%U %S'
for ((round = 0; round < rounds; ++round)); do
  for command in "${commands[@]}"; do
    # shellcheck disable=SC2086
    cpu=$({ time $command >/dev/null 2>&1 || true; } 2>&1)
    ms=$(awk '{ print int(($1 + $2) * 1000) }' <<<"$cpu")
    if [[ -z ${shortest_ms[$command]-} ]] || ((ms < shortest_ms[$command])); then shortest_ms[$command]=$ms; fi
  done
done
echo
ours_ms=${shortest_ms[${commands[0]}]}
for command in "${commands[@]}"; do
  printf '%8d ms  %5.2f x  %s\n' "${shortest_ms[$command]}" \
    "$(awk -v a="$ours_ms" -v b="${shortest_ms[$command]}" 'BEGIN { print a / b }')" "${command/ "$file"/}"
done
echo "(CPU time; the factor is ours divided by the other's, each the shortest of $rounds runs in turn)"
