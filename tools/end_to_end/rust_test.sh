#!/bin/bash
# A Rust program with the coz crate's interface and std's locks under coz: points are counted, both threads sampled, delays credited.
set -euo pipefail
coz=$1 source=$2
home=$(getent passwd "$(id -u)" | cut -d: -f6)
export HOME=$home
rustc="" found=none
# A distribution's may be older, and lie before the user's own.
for candidate in $(PATH=$PATH:$home/.cargo/bin type -ap rustc); do
  found=$("$candidate" --version 2>/dev/null | cut -d' ' -f2) || continue # rustup without a toolchain
  if printf '1.77\n%s\n' "$found" | sort --check=quiet --version-sort; then rustc=$candidate && break; fi
done
if [[ -z $rustc ]]; then
  echo "SKIPPED: required rustc 1.77, actual $found on this machine"
  [[ -z ${COZ_REQUIRE_CAPABILITIES:-} ]]
  exit
fi
folder=$TEST_TMPDIR
"$rustc" --edition 2021 -g -C opt-level=2 -o "$folder/relay" "$source"
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
