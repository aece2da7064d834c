#!/bin/bash
# A Rust program with the coz crate's interface and std's locks under coz: points are counted, both threads sampled, delays credited.
set -euo pipefail
coz=$1 source=$2
home=$(getent passwd "$(id -u)" | cut -d: -f6)
rustc=$(PATH=$PATH:$home/.cargo/bin command -v rustc) || {
  echo "SKIPPED: required rustc 1.77, actual none on this machine"
  [[ -z ${COZ_REQUIRE_CAPABILITIES:-} ]]
  exit
}
folder=$TEST_TMPDIR
HOME=$home "$rustc" --edition 2021 -g -C opt-level=2 -o "$folder/relay" "$source"
"$folder/relay" 0.1 # without the profiler
"$coz" run -o "$folder/relay.pb" --experiment-length=0.1 --- "$folder/relay" 3
report=$("$coz" report -n 0 "$folder/relay.pb")
echo "$report"
visits=$(sed -n 's/^Progress point rounds (throughput): \([0-9]*\) visits$/\1/p' <<<"$report")
[[ ${visits:-0} -gt 0 ]] || { echo "no visit of the point was counted"; exit 1; }
# The table has only lines with experiments, and functions only of those that are known well enough.
json=$("$coz" report --json "$folder/relay.pb")
grep -q leaders_work <<<"$json" || { echo "functions are not named as in the source"; exit 1; }
for label in leader helper; do
  line=$(grep -n "LINE($label)" "$source" | cut -d: -f1)
  grep -q "relay.rs:$line\"" <<<"$json" || { echo "the $label's line has no samples"; exit 1; }
done
