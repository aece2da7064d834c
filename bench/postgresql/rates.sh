#!/bin/bash
# Measures what profiling costs PostgreSQL, in queries per second of bench/postgresql/load.sh. It
# runs without coz, and with coz by each source of samples, both without a progress point and with a
# breakpoint in ReadyForQuery. The virtual speedup is 0, so there are no delays. Runs of 6 s take
# turns. Prints all rates and the medians.
# Usage: bench/postgresql/rates.sh [ROUNDS] [FOLDER]      after profile.sh, which installs coz and makes the database in FOLDER
set -euo pipefail
rounds=${1:-3} folder=${2:-/tmp/coz-postgresql}
as_user=()
[[ $(id -u) != 0 ]] || as_user=(setpriv --reuid=nobody --regid=nogroup --clear-groups env "HOME=$folder")
coz=$folder/prefix/bin/coz
[[ -x $coz ]] || coz=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/bazel-bin/tools/coz
cd "$folder"
run() { "${as_user[@]}" "$@" 2>/dev/null | awk '$1 == "tps" { printf "%.0f\n", $3 }'; }
profiled() {
  run "$coz" run --unit=function --follow=all -b '%/bin/postgres' --fixed-speedup=0 -o rates.pb "$@" --- ./load.sh "$folder" 6
}
modes=(bare auto cpu-timer perf-sigtrap)
for _ in $(seq "$rounds"); do
  for mode in "${modes[@]}"; do
    if [[ $mode == bare ]]; then
      echo "bare $(run ./load.sh "$folder" 6)"
      continue
    fi
    echo "$mode $(profiled --sampler="$mode")"
    echo "$mode+breakpoint $(profiled --sampler="$mode" --progress=ReadyForQuery)"
  done
done | tee rates.txt
echo "== medians"
sort -k1,1 -k2,2n rates.txt | awk '{ n[$1]++; v[$1, n[$1]] = $2 } END { for (m in n) print m, v[m, int((n[m] + 1) / 2)] }' | sort -k2,2nr
