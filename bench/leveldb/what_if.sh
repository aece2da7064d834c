#!/bin/bash
# What really happens to the time of a write when crc32c::Extend gets cheap: LevelDB with the CPU's CRC32C instruction. Runs taken in
# turn; prints microseconds per write of each and the median of the ratios.
# Usage: bench/leveldb/what_if.sh [ROUNDS] [FOLDER]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
rounds=${1:-7} folder=${2:-/tmp/coz-leveldb}
source "$root/bench/leveldb/database.sh"
"$root/bench/leveldb/build.sh" "$folder" >/dev/null
cd "$folder"
database=$(database_for "$folder")
trap 'rm -rf "$database"' EXIT
time_of_a_write() {
  "./$1" --benchmarks=fillbatch,fillbatch --num=4000000 --db="$database" 2>/dev/null |
    tr '\r' '\n' | awk '$1 == "fillbatch" { if (!best || $3 < best) best = $3 } END { print best }'
}
for _ in $(seq "$rounds"); do
  echo "$(time_of_a_write db_bench) $(time_of_a_write db_bench_sse)"
done | awk '{ printf "%.3f -> %.3f us, %.1f %% saved\n", $1, $2, 100 * (1 - $2 / $1); print 1 - $2 / $1 | "sort -n > /dev/stderr" }' \
  2> >(awk '{ r[NR] = $1 } END { printf "median: %.1f %% saved\n", 100 * r[int((NR + 1) / 2)] }')
