#!/bin/bash
# Profiles LevelDB's db_bench, unmodified: batches of 1,000 writes into a fresh database, again and again. Its progress point is the
# function that writes a batch.
# Usage: bench/leveldb/profile.sh [--runs=N] [--folder=DIR] [COZ OPTIONS...]       a run takes 1 to 2 s
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
runs=70 folder=/tmp/coz-leveldb options=()
for argument in "$@"; do
  case $argument in
    --runs=*) runs=${argument#*=} ;;
    --folder=*) folder=${argument#*=} ;;
    *) options+=("$argument") ;;
  esac
done
coz=$root/bazel-bin/tools/coz
[[ -x $coz ]] || (cd "$root" && ./bazelw build //tools:coz)

"$root/bench/leveldb/build.sh" "$folder" >/dev/null
cd "$folder"
benchmarks=$(printf 'fillbatch,%.0s' $(seq "$runs"))
"$coz" run -o leveldb.pb --progress 'leveldb::DBImpl::Write' "${options[@]}" --- ./db_bench \
  --benchmarks="${benchmarks%,}" --num=2000000 --db="$folder/db" >db_bench.out 2>db_bench.err
"$coz" report --lines=10 --width=120 leveldb.pb | cut -c -200
