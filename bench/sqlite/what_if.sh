#!/bin/bash
# What really happens to the transaction rate when SQLite's allocator statistics, and with them most calls of the mutex functions,
# are compiled out. Runs taken in turn; prints transactions per second of each and the median of the ratios.
# As root, idle CPUs are kept from halting meanwhile, as in the profile.
# Usage: bench/sqlite/what_if.sh [ROUNDS] [THREADS] [FOLDER]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/bench/awake.sh"
rounds=${1:-7} threads=${2:-2} folder=${3:-/tmp/coz-sqlite}
"$root/bench/sqlite/build.sh" "$folder" >/dev/null
"$root/bench/sqlite/build.sh" "$folder/no-memstatus" -DSQLITE_DEFAULT_MEMSTATUS=0 >/dev/null
keep_cpus_awake
for _ in $(seq "$rounds"); do
  before=$("$folder/driver" "$threads" 5 | cut -d' ' -f1)
  after=$("$folder/no-memstatus/driver" "$threads" 5 | cut -d' ' -f1)
  echo "$before $after"
done | awk '{ printf "%d -> %d, ratio %.3f\n", $1, $2, $2 / $1; print $2 / $1 | "sort -n > /dev/stderr" }' 2> >(awk '{ r[NR] = $1 } END { printf "median ratio %.3f\n", r[int((NR + 1) / 2)] }')
