#!/bin/bash
# Measures what really happens to the time of a write when crc32c::Extend gets cheap, by LevelDB
# with the CPU's CRC32C instruction. Each round runs the two builds in turn, in alternating order.
# Prints microseconds per write of each build, and the median, the mean and its 95 % interval of the
# time saved.
# Usage: bench/leveldb/what_if.sh [ROUNDS] [FOLDER]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
rounds=${1:-24} folder=${2:-/tmp/coz-leveldb}
source "$root/bench/leveldb/database.sh"
source "$root/bench/awake.sh"
"$root/bench/leveldb/build.sh" "$folder" >/dev/null
cd "$folder"
database=$(database_for "$folder")
trap 'rm -rf "$database"' EXIT
keep_cpus_awake
time_of_a_write() {
  "./$1" --benchmarks=fillbatch --num=1500000 --db="$database" 2>/dev/null | tr '\r' '\n' | awk '$1 == "fillbatch" { print $3 }'
}
for round in $(seq "$rounds"); do
  if ((round % 2)); then
    plain=$(time_of_a_write db_bench) sse=$(time_of_a_write db_bench_sse)
  else
    sse=$(time_of_a_write db_bench_sse) plain=$(time_of_a_write db_bench)
  fi
  echo "$plain $sse"
done | python3 -c '
import math, statistics, sys
saved = []
for line in sys.stdin:
    plain, sse = map(float, line.split())
    saved.append(100 * (1 - sse / plain))
    print(f"{plain:.3f} -> {sse:.3f} us, {saved[-1]:.1f} % saved", flush=True)
mean = statistics.mean(saved)
error = 1.96 * statistics.stdev(saved) / math.sqrt(len(saved)) if len(saved) > 1 else math.inf
print(f"saved: median {statistics.median(saved):.1f} %, mean {mean:.1f} % (95 %: {mean - error:.1f} to {mean + error:.1f})")
'
