#!/bin/bash
# Measures what really happens to the time of a query when secure_write, which sends the answer to
# the client, has less to do. It compares PostgreSQL with US more microseconds of CPU time in each
# send and without them. Prints queries per second of runs of 3 s in turn, and the median, the mean
# and its 95 % interval of the time saved. `profile.sh --slow-send=US --fixed-line secure_write`
# predicts the time saved.
# If run by root, idle CPUs are kept from halting meanwhile, as in the profile.
# Usage: bench/postgresql/what_if.sh [ROUNDS] [US] [FOLDER]      after profile.sh, which makes the database in FOLDER
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/bench/awake.sh"
rounds=${1:-10} us=${2:-40} folder=${3:-/tmp/coz-postgresql}
as_user=()
[[ $(id -u) != 0 ]] || as_user=(setpriv --reuid=nobody --regid=nogroup --clear-groups env "HOME=$folder")
cp "$root/bench/postgresql/load.sh" "$folder/load.sh"
gcc -O2 -shared -fPIC -o "$folder/slow_send.so" "$root/bench/postgresql/slow_send.c"
cd "$folder"
keep_cpus_awake
rate() { "${as_user[@]}" env "SLOW_SEND_US=$1" ./load.sh "$folder" 3 | awk '$1 == "tps" { print $3 }'; }
for round in $(seq "$rounds"); do
  if ((round % 2)); then slow=$(rate "$us") plain=$(rate 0); else plain=$(rate 0) slow=$(rate "$us"); fi
  echo "$slow $plain"
done | python3 -c '
import math, statistics, sys
saved = []
for line in sys.stdin:
    slow, plain = map(float, line.split())
    saved.append(100 * (1 - slow / plain))
    print(f"{slow:.0f} -> {plain:.0f} queries/s, {saved[-1]:.1f} % of the time saved", flush=True)
mean = statistics.mean(saved)
error = 1.96 * statistics.stdev(saved) / math.sqrt(len(saved)) if len(saved) > 1 else math.inf
print(f"saved: median {statistics.median(saved):.1f} %, mean {mean:.1f} % (95 %: {mean - error:.1f} to {mean + error:.1f})")
'
