#!/bin/bash
# Builds the Rust example and profiles both of its lines; prints the right answers beside.
# Usage: examples/rust/profile.sh [SECONDS-PER-LINE]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
seconds=${1:-20}
source "$root/bench/awake.sh"
version=$(rustc --version 2>/dev/null | cut -d' ' -f2) || version=none
if [[ $version == none ]] || ! printf '1.77\n%s\n' "$version" | sort --check=quiet --version-sort; then
  echo "profile.sh: needs rustc 1.77 or later, actual $version; install it as https://rustup.rs says" >&2
  exit 1
fi
coz=$root/bazel-bin/tools/coz
[[ -x $coz ]] || (cd "$root" && ./bazelw build //tools:coz)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
rustc --edition 2021 -g -C opt-level=2 -o "$folder/relay" "$here/relay.rs"
keep_cpus_awake
for label in leader helper; do
  line=$(grep -n "LINE($label)" "$here/relay.rs" | cut -d: -f1)
  "$coz" run "${awake[@]}" --append -o "$folder/relay.pb" --fixed-line="relay.rs:$line" --fixed-speedup=0,15,30,50,75 \
    --- "$folder/relay" "$seconds" >/dev/null 2>&1
done
"$coz" report --width=120 "$folder/relay.pb"
echo "Right: leader (relay.rs:$(grep -n 'LINE(leader)' "$here/relay.rs" | cut -d: -f1)) +15 % at 15 %, +30 % from 30 % on; helper 0."
