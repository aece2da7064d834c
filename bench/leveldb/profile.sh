#!/bin/bash
# Profiles LevelDB's unmodified db_bench. It writes batches of 1,000 entries into fresh databases of
# 20 million entries (1.2 GB each), again and again. Its progress point is the function that writes
# a batch. The databases lie in memory (/dev/shm) if there is room. On a disk that others use, and
# with small databases that are deleted every second, the rate of one experiment varies by 17 %, and
# the report reaches no verdict.
# If run by root, idle CPUs are kept from halting meanwhile.
# Usage: bench/leveldb/profile.sh [--seconds=N] [--folder=DIR] [COZ OPTIONS...]
#        bench/leveldb/profile.sh --seconds=60 --unit=function --fixed-line leveldb::crc32c::Extend --fixed-speedup 80-100
#                                                                                       the prediction that what_if.sh checks
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/bench/leveldb/database.sh"
source "$root/bench/awake.sh"
seconds=120 folder=/tmp/coz-leveldb options=()
for argument in "$@"; do
  case $argument in
    --seconds=*) seconds=${argument#*=} ;;
    --folder=*) folder=${argument#*=} ;;
    *) options+=("$argument") ;;
  esac
done
coz=$root/bazel-bin/tools/coz
[[ -x $coz ]] || (cd "$root" && ./bazelw build //tools:coz)

"$root/bench/leveldb/build.sh" "$folder" >/dev/null
cd "$folder"
database=$(database_for "$folder")
trap 'rm -rf "$database"' EXIT
keep_cpus_awake
benchmarks=$(printf 'fillbatch,%.0s' $(seq 40))
# SIGTERM ends db_bench, which would go on for hours. The report notes that.
timeout $((seconds + 5)) "$coz" run -o leveldb.pb --duration "$seconds" --progress 'leveldb::DBImpl::Write' "${awake[@]}" "${options[@]}" --- ./db_bench \
  --benchmarks="${benchmarks%,}" --num=20000000 --db="$database" >db_bench.out 2>db_bench.err || true
"$coz" report --lines=10 --width=120 leveldb.pb | cut -c -200
