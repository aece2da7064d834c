#!/bin/bash
# Measures what really happens to the transaction rate when SQLite's allocator statistics are
# compiled out, and with them most calls of the mutex functions. Runs of both builds take turns.
# Prints transactions per second of each run and the median of the ratios.
# If run by root, idle CPUs are kept from halting meanwhile, as in the profile.
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
