#!/bin/bash
# What a visit costs by other tools: the original's macro, and uftrace, which writes down each call. CPU time, ns.
#
#   bench/points/peers.sh    # downloads both of Debian's packages, and installs nothing
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in coz-profiler libelf++0 libdwarf++0 uftrace libcapstone4; do
  "$root/third_party/debian/unpack.sh" "$package" "$folder/peers" >/dev/null
done
libraries=$folder/peers/usr/lib/x86_64-linux-gnu
export LD_LIBRARY_PATH=$libraries:$libraries/uftrace

build() { gcc -O2 -gdwarf-4 -I"$folder/peers/usr/include" "${@:2}" "$root/bench/points/peers.c" -o "$1"; }
build plain
build marked -DWITH_MARK
build instrumented -pg
build patchable -fpatchable-function-entry=5

# The last line that is a number.
figure() { grep -E '^[0-9.]+$' | tail -n 1; }
traced() { "$folder/peers/usr/bin/uftrace" record --no-pager -d trace --force "$@" 2>/dev/null | figure; }
echo "the function alone: $(./plain)"
echo "the original's macro, without the profiler: $(./marked)"
echo "the original's macro, under its coz run: $("$folder/peers/usr/bin/coz" run --- ./marked 2>/dev/null | figure)"
echo "uftrace, built with -pg: $(traced -F Visited ./instrumented)"
echo "uftrace, changed when it starts (-P): $(traced -P Visited ./patchable)"
