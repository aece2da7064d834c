#!/bin/bash
# What really happens to the rate of requests when zlib has less to do: compression level 1 instead of 6. Prints the CPU time of deflate
# for one page at both levels (how much faster the line gets), then requests per second and the CPU time
# that nginx really had for each, of runs taken in turn, and the median of the ratios.
# As root, idle CPUs are kept from halting meanwhile, as in the profile.
# Usage: bench/nginx/what_if.sh [ROUNDS] [FOLDER]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/bench/awake.sh"
rounds=${1:-5} folder=${2:-/tmp/coz-nginx}
"$root/bench/nginx/build.sh" "$folder" >/dev/null
keep_cpus_awake
python3 - "$folder/run/html/page.txt" <<'END'
import sys, time, zlib
page = open(sys.argv[1], "rb").read()
def ms(level):
    best = 1e9
    for _ in range(300):
        start = time.process_time()
        zlib.compress(page, level)
        best = min(best, time.process_time() - start)
    return 1000 * best
six, one = ms(6), ms(1)
print(f"deflate: {six:.3f} ms at level 6, {one:.3f} ms at level 1: {100 * (1 - one / six):.0f} % faster")
END
rate_and_cpu() { "$root/bench/nginx/load.sh" "$folder" 5 "$1" | awk '{ printf "%s ", $2 }'; }
for _ in $(seq "$rounds"); do echo "$(rate_and_cpu 6) $(rate_and_cpu 1)"; done |
  awk '{ printf "%.0f -> %.0f requests/s, time for a request %.1f %% less; CPU of the workers %.1f -> %.1f us\n", $1, $3, 100 * (1 - $1 / $3), $2, $4
         print $1 / $3 | "sort -n > /dev/stderr" }' \
    2> >(awk '{ r[NR] = $1 } END { printf "median: %.1f %% less\n", 100 * (1 - r[int((NR + 1) / 2)]) }')
