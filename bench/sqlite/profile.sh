#!/bin/bash
# Profiles the SQLite load with coz, and on request then with another coz. If run by root, idle CPUs
# are kept from halting meanwhile.
# Usage: bench/sqlite/profile.sh [--seconds=N] [--threads=N] [--folder=DIR] [--peer=PATH-OF-ORIGINAL-COZ]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/bench/awake.sh"
seconds=130 threads=2 folder=/tmp/coz-sqlite peer=
for argument in "$@"; do
  case $argument in
    --seconds=*) seconds=${argument#*=} ;;
    --threads=*) threads=${argument#*=} ;;
    --folder=*) folder=${argument#*=} ;;
    --peer=*) peer=${argument#*=} ;;
    *) echo "usage: profile.sh [--seconds=N] [--threads=N] [--folder=DIR] [--peer=PATH]" >&2; exit 2 ;;
  esac
done
coz=$root/bazel-bin/tools/coz
[[ -x $coz ]] || (cd "$root" && ./bazelw build //tools:coz)

"$root/bench/sqlite/build.sh" "$folder" >/dev/null
cd "$folder"
keep_cpus_awake
echo "== without a profiler, three times 10 s"
for _ in 1 2 3; do ./driver "$threads" 10; done
echo "== coz, $seconds s"
"$coz" run "${awake[@]}" -o sqlite.pb --- ./driver "$threads" "$seconds"
"$coz" report --lines=10 --width=120 sqlite.pb

if [[ $peer ]]; then
  # The original needs DWARF 4 without view numbers, and its own header.
  COZ_H=$(dirname "$(dirname "$peer")")/include "$root/bench/sqlite/build.sh" "$folder/peer" -gdwarf-4 -gno-variable-location-views >/dev/null
  cd "$folder/peer"
  rm -f peer.coz
  echo "== $peer, $seconds s"
  "$peer" run --output peer.coz --source-scope '%' --- ./driver "$threads" "$seconds"
  echo "experiments: $(grep -c ^experiment peer.coz || true)"
  grep ^experiment peer.coz | sed 's/.*selected=\([^\t]*\).*/\1/' | sort | uniq -c | sort -rn | head -n 10
fi
