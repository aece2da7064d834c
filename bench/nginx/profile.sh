#!/bin/bash
# Profiles nginx's master, two workers and the load generator together. If run by root, idle CPUs
# are kept from halting meanwhile.
# Usage: bench/nginx/profile.sh [--seconds=N] [--folder=DIR]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/bench/awake.sh"
seconds=60 folder=/tmp/coz-nginx
for argument in "$@"; do
  case $argument in
    --seconds=*) seconds=${argument#*=} ;;
    --folder=*) folder=${argument#*=} ;;
    *) echo "usage: profile.sh [--seconds=N] [--folder=DIR]" >&2; exit 2 ;;
  esac
done
coz=$root/bazel-bin/tools/coz
[[ -x $coz ]] || (cd "$root" && ./bazelw build //tools:coz)

"$root/bench/nginx/build.sh" "$folder" >/dev/null
keep_cpus_awake
echo "== without a profiler, three times 5 s"
for _ in 1 2 3; do "$root/bench/nginx/load.sh" "$folder" 5; done
echo "== coz, $seconds s"
cd "$folder"
"$coz" run "${awake[@]}" --follow=all -o nginx.pb --- "$root/bench/nginx/load.sh" "$folder" "$seconds"
"$coz" report --lines=10 --width=120 nginx.pb
