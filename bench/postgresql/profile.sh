#!/bin/bash
# Profiles PostgreSQL's postmaster, two backends and pgbench together. Debian's server is stripped,
# so only the 10,000 functions that it exports to its modules have names. The progress point is one
# of them, which is called once for each query that has been answered.
# If run by root, idle CPUs are kept from halting meanwhile.
# --slow-send=US makes each answer take that many microseconds more, as in what_if.sh. --kernel lets
# coz sample time in the kernel (CAP_PERFMON; root only). That matters where --sampler=perf-sigtrap
# keeps perf events.
# Usage: bench/postgresql/profile.sh [--seconds=N] [--folder=DIR] [--slow-send=US] [--kernel] [COZ OPTIONS...]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/bench/awake.sh"
seconds=120 folder=/tmp/coz-postgresql options=() slow=0 with_caps=()
for argument in "$@"; do
  case $argument in
    --seconds=*) seconds=${argument#*=} ;;
    --folder=*) folder=${argument#*=} ;;
    --slow-send=*) slow=${argument#*=} ;;
    --kernel) with_caps=(--inh-caps=+perfmon --ambient-caps=+perfmon) ;;
    *) options+=("$argument") ;;
  esac
done
mkdir -p "$folder"
as_user=()
coz=$root/bazel-bin/tools/coz
if [[ $(id -u) == 0 ]]; then
  # PostgreSQL refuses to run as root, and another user may not be able to read this folder.
  [[ -x $folder/prefix/bin/coz && $folder/prefix/bin/coz -nt $coz ]] ||
    (cd "$root" && ./bazelw run //tools:install -- --prefix="$folder/prefix" >/dev/null)
  cp "$root/bench/postgresql/load.sh" "$folder/load.sh"
  coz=$folder/prefix/bin/coz
  chown -R nobody "$folder"
  as_user=(setpriv --reuid=nobody --regid=nogroup --clear-groups "${with_caps[@]}" env "HOME=$folder" "SLOW_SEND_US=$slow")
else
  as_user=(env "SLOW_SEND_US=$slow")
  cp "$root/bench/postgresql/load.sh" "$folder/load.sh"
fi
gcc -O2 -shared -fPIC -o "$folder/slow_send.so" "$root/bench/postgresql/slow_send.c"
cd "$folder"
keep_cpus_awake
load=("$folder/load.sh" "$folder")
"${as_user[@]}" "${load[@]}" 1 >/dev/null
echo "== without a profiler, three times 5 s"
for _ in 1 2 3; do "${as_user[@]}" "${load[@]}" 5; done
echo "== coz, $seconds s"
# coz finds by itself that perf events cost too much here. They are set anew at each of some 25,000
# switches between processes per second, which halves the rate. --sampler=perf-sigtrap shows that.
"${as_user[@]}" "$coz" run --follow=all --unit=function -b '%/bin/postgres' --progress ReadyForQuery -o "$folder/postgresql.pb" \
  "${options[@]}" --- "${load[@]}" "$seconds"
"${as_user[@]}" "$coz" report --lines=12 --width=120 "$folder/postgresql.pb"
