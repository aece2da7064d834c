#!/bin/bash
# Fuzzes every reader of bytes that coz did not just make itself: tools/scripts/fuzz.sh [--merge] [SECONDS [READER...]]
#
# SECONDS is CPU time of each, default 600, however long that takes beside other work. READER: the end of a name below, default all.
# --merge then makes the corpora in the tree anew: seeds with a name stay, and the smallest inputs are added that reach more code, up to
# 200 KB each.
# Findings are left in the current folder; the exit status is not 0 then.
set -euo pipefail
merge=
if [[ ${1:-} == --merge ]]; then merge=1; shift; fi
seconds=${1:-600}
readers=("${@:2}")
from=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

fuzzers=(
  "coz/report/profile_reader coz/report/testdata/profile_corpus"
  "coz/report/exchange/profile_outputs coz/report/testdata/profile_corpus of-profile_reader"
  "coz/report/exchange/import_coz coz/report/exchange/testdata/import_corpus"
  "coz/report/compare/history coz/report/compare/testdata/history_corpus"
  "coz/sourcemap/line_table coz/sourcemap/testdata/line_table_corpus"
  "coz/sourcemap/perf_map coz/sourcemap/testdata/perf_map_corpus"
  "coz/sourcemap/jit_dump coz/sourcemap/testdata/jit_dump_corpus"
  "coz/sourcemap/dwarf/line_program coz/sourcemap/testdata/line_program_corpus"
  "coz/sourcemap/dwarf/die_scanner coz/sourcemap/testdata/die_scanner_corpus"
  "coz/sampler/unwind/eh_frame coz/sampler/unwind/testdata/eh_frame_corpus"
  "tools/plot_server tools/testdata/plot_server_corpus"
  "coz/supervisor/run/hostile_target coz/supervisor/run/testdata/hostile_corpus"
)
# An input in the tree is no longer than this, nor is a corpus.
corpus_input_bytes=4096
corpus_bytes=200000

is_wanted() {
  local reader
  for reader in "${readers[@]}"; do
    if [[ $1 == *"$reader" ]]; then return 0; fi
  done
  ((${#readers[@]} == 0))
}

# Runs "$@" and adds the CPU time that it took, in milliseconds, to $spent_ms.
spent_ms=0
runs=0
spend() {
  local took status=0
  TIMEFORMAT='%3U %3S'
  { time "$@" >"$work/log" 2>&1 || status=$?; } 2>"$work/time"
  read -r -a took <"$work/time"
  spent_ms=$((spent_ms + 10#${took[0]/./} + 10#${took[1]/./}))
  return "$status"
}

# Fuzzes in pieces, each of which goes on with what the former has found: libFuzzer knows wall time only, of which this may get a small
# share. So the limit on one input is long.
fuzz() {
  local fuzzer=$1 corpus=$2
  spent_ms=0
  runs=0
  while ((spent_ms < seconds * 1000)); do
    if ! spend "$work/bin/${fuzzer##*/}" -rss_limit_mb=1024 -timeout=600 -report_slow_units=600 -max_len=20000 -print_final_stats=1 \
        -max_total_time=$(((seconds * 1000 - spent_ms + 999) / 1000)) -artifact_prefix="$from/" "$work/found/$fuzzer" "$corpus"; then
      grep -E 'SUMMARY|ERROR|Test unit written|^stat::' "$work/log"
      return 1
    fi
    runs=$((runs + $(sed -n 's/^stat::number_of_executed_units: *//p' "$work/log")))
  done
  say_result "$fuzzer"
}

say_result() {
  printf '%s: no finding in %d.%d s of CPU time, %d runs\n' "$1" $((spent_ms / 1000)) $((spent_ms % 1000 / 100)) "$runs"
}

is_named() { ! [[ ${1##*/} =~ ^[0-9a-f]{40}$ ]]; }

# Files of a folder by size, up to what a corpus may have.
smallest() {
  local sum=0 size file
  while read -r size file; do
    sum=$((sum + size))
    if ((sum <= corpus_bytes)); then echo "$file"; fi
  done < <(find "$1" -type f -printf '%s %p\n' | sort -n)
}

make_corpus_anew() {
  local fuzzer=$1 corpus=$2 new=$work/new/$1 file
  mkdir -p "$new"
  find "$work/found/$fuzzer" -type f -size +${corpus_input_bytes}c -delete
  for file in "$corpus"/*; do
    if is_named "$file"; then cp "$file" "$new"; else mv "$file" "$work/found/$fuzzer"; fi
  done
  "$work/bin/${fuzzer##*/}" -merge=1 -rss_limit_mb=1024 "$new" "$work/found/$fuzzer" >"$work/log" 2>&1
  while read -r file; do
    if ! is_named "$file"; then cp "$file" "$corpus"; fi
  done < <(smallest "$new")
}

targets=()
for entry in "${fuzzers[@]}"; do
  read -r fuzzer _ <<<"$entry"
  if is_wanted "$fuzzer"; then targets+=("//${fuzzer%/*}:${fuzzer##*/}_fuzzer"); fi
done
if ((${#targets[@]} == 0)); then
  echo "tools/scripts/fuzz.sh: no reader is called ${readers[*]}; choose among: ${fuzzers[*]%% *}" >&2
  exit 2
fi
./bazelw build --config=fuzz "${targets[@]}"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'say_result "stopped, $fuzzer"; exit 1' INT TERM
mkdir "$work/bin"
for target in "${targets[@]}"; do
  # A copy: the next build of something else may replace it.
  fuzzer=${target#//}
  name=${fuzzer##*:}
  cp "bazel-bin/${fuzzer/://}" "$work/bin/${name%_fuzzer}"
done
status=0
for entry in "${fuzzers[@]}"; do
  read -r fuzzer corpus shared <<<"$entry"
  if ! is_wanted "$fuzzer"; then continue; fi
  mkdir -p "$work/found/$fuzzer"
  fuzz "$fuzzer" "$corpus" || status=1
  if [[ $merge && ! $shared ]]; then make_corpus_anew "$fuzzer" "$corpus"; fi
done
exit "$status"
