#!/bin/bash
# Fuzzes every reader of bytes that coz did not just make itself, one after the other: tools/fuzz.sh [SECONDS for each, default 600]
# Findings are left in the current folder; the exit status is not 0 then.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=${1:-600}
fuzzers=(
  "coz/report/profile_reader coz/report/testdata/profile_corpus"
  "coz/report/exchange/import_coz coz/report/exchange/testdata/import_corpus"
  "coz/sourcemap/line_table coz/sourcemap/testdata/line_table_corpus"
  "coz/sourcemap/line_program coz/sourcemap/testdata/line_program_corpus"
)
targets=()
for entry in "${fuzzers[@]}"; do
  read -r fuzzer _ <<<"$entry"
  targets+=("//${fuzzer%/*}:${fuzzer##*/}_fuzzer")
done
./bazelw build --config=fuzz "${targets[@]}"
found=$(mktemp -d)
trap 'rm -rf "$found"' EXIT
status=0
for entry in "${fuzzers[@]}"; do
  read -r fuzzer corpus <<<"$entry"
  echo "== $fuzzer"
  mkdir -p "$found/$fuzzer"
  "bazel-bin/${fuzzer}_fuzzer" -rss_limit_mb=1024 -max_len=20000 -max_total_time="$seconds" -print_final_stats=1 \
    "$found/$fuzzer" "$corpus" >"$found/log" 2>&1 || status=1
  grep -E 'SUMMARY|ERROR|Test unit written|^stat::(number_of|peak)' "$found/log" || true
done
exit "$status"
