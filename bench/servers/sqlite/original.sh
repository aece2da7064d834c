#!/bin/bash
# Profiles the SQLite load with the original Coz, and counts its experiments by line. Unpack it first:
# third_party/debian/unpack.sh coz-profiler /tmp/original
# Usage: bench/servers/sqlite/original.sh [--seconds=N] [--threads=N] [--folder=DIR] [--peer=PATH-OF-ORIGINAL-COZ]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
source "$root/bench/awake.sh"
seconds=130 threads=2 folder=/tmp/coz-servers/sqlite-original peer=/tmp/original/usr/bin/coz
for argument in "$@"; do
  case $argument in
    --seconds=*) seconds=${argument#*=} ;;
    --threads=*) threads=${argument#*=} ;;
    --folder=*) folder=${argument#*=} ;;
    --peer=*) peer=${argument#*=} ;;
    *) echo "usage: original.sh [--seconds=N] [--threads=N] [--folder=DIR] [--peer=PATH]" >&2; exit 2 ;;
  esac
done
keep_cpus_awake
# The original reads DWARF 4 without view numbers, and its own header.
COZ_H=$(dirname "$(dirname "$peer")")/include "$root/bench/servers/sqlite/build.sh" "$folder" -gdwarf-4 -gno-variable-location-views >/dev/null
cd "$folder"
rm -f peer.coz
"$peer" run --output peer.coz --source-scope '%' --- ./driver "$threads" "$seconds"
echo "experiments: $(grep -c ^experiment peer.coz || true)"
grep ^experiment peer.coz | sed 's/.*selected=\([^\t]*\).*/\1/' | sort | uniq -c | sort -rn | head -n 10
