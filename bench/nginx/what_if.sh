#!/bin/bash
# Measures what really happens to the rate of requests when zlib has less to do, at compression
# level 1 instead of 6. First it prints the CPU time of the line that calls deflate at both levels,
# sampled without delays. That shows how much faster the line gets. Then it runs nginx without coz
# at both levels in turn. It prints requests per second and nginx's CPU time per request, and the
# medians of the ratios.
# If run by root, idle CPUs are kept from halting meanwhile, as in the profile.
# Usage: bench/nginx/what_if.sh [ROUNDS] [FOLDER]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/bench/awake.sh"
rounds=${1:-5} folder=${2:-/tmp/coz-nginx}
"$root/bench/nginx/build.sh" "$folder" >/dev/null
keep_cpus_awake
coz=$root/bazel-bin/tools/coz
[[ -x $coz ]] || (cd "$root" && ./bazelw build //tools:coz)
# Prints the CPU time per request of the line that calls deflate, in us, from samples in nginx
# itself, without delays.
deflate_us() {
  cd "$folder"
  "$coz" run "${awake[@]}" --follow=all --fixed-speedup=0 -o "level$1.pb" --- "$root/bench/nginx/load.sh" "$folder" 8 "$1" >"level$1.log" 2>&1 ||
    { cat "level$1.log" >&2; return 1; }
  "$coz" report --json "level$1.pb" | python3 -c '
import json, sys
report = json.load(sys.stdin)
samples = sum(u["samples"] for u in report["units"] if u["function"] == "ngx_http_gzip_filter_deflate")
visits = next(p["visits"] for p in report["points"] if p["name"] == "requests")
print(samples * report["sessions"][0]["sampling_period_ns"] / 1000 / visits)'
}
six=$(deflate_us 6)
one=$(deflate_us 1)
echo "$six $one" | awk '{ printf "deflate: %.0f us at level 6, %.0f us at level 1: %.0f %% faster\n", $1, $2, 100 * (1 - $2 / $1) }'
rate_and_cpu() { "$root/bench/nginx/load.sh" "$folder" 5 "$1" | awk '{ printf "%s ", $2 }'; }
for _ in $(seq "$rounds"); do echo "$(rate_and_cpu 6) $(rate_and_cpu 1)"; done |
  awk '{ printf "%.0f -> %.0f requests/s, time for a request %.1f %% less; CPU of the workers %.1f -> %.1f us\n", $1, $3, 100 * (1 - $1 / $3), $2, $4
         print $1 / $3 | "sort -n > /dev/stderr" }' \
    2> >(awk '{ r[NR] = $1 } END { printf "median: %.1f %% less\n", 100 * (1 - r[int((NR + 1) / 2)]) }')
