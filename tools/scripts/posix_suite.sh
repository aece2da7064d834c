#!/bin/bash
# Runs the Open POSIX Test Suite's cases of threads, semaphores, signals and sleeps with and without coz, and says where they differ.
# Usage: tools/scripts/posix_suite.sh SUITE COZ [JOBS] [INTERFACES...]
#   SUITE is testcases/open_posix_testsuite of a checkout of github.com/linux-test-project/ltp, COZ the command. Default: 8 jobs (most
#   cases sleep), all interfaces that we wrap a call of. A case whose results differ is run three more times both ways, for some
#   depend on how busy the machine is; it is reported where the sets of results still have nothing in common.
# Output: a line for each case that differs, then counts. Exit status 1 where a case differs.
set -uo pipefail
if (($# < 2)); then
  echo "posix_suite: give the suite's folder and the coz command: tools/scripts/posix_suite.sh ltp/testcases/open_posix_testsuite bazel-bin/tools/coz" >&2
  exit 2
fi
suite=$(realpath "$1")
coz=$(realpath "$2")
jobs=${3:-8}
shift $(($# < 3 ? $# : 3))
interfaces=("$@")
if ((${#interfaces[@]} == 0)); then
  interfaces=(clock_nanosleep fork kill killpg nanosleep 'pthread_*' raise 'sem_*' sigaction sighold sigignore signal sigpause sigpending
    sigprocmask sigqueue sigrelse sigset sigsuspend sigtimedwait sigwait sigwaitinfo)
fi
if [[ ! -d $suite/conformance/interfaces ]]; then
  echo "posix_suite: '$suite' has no folder conformance/interfaces; give the folder testcases/open_posix_testsuite of LTP's sources." >&2
  exit 2
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export suite coz work

# As the suite's own Makefiles do, but for what they ask of a speculative case.
compile() {
  local name=${1//\//.}
  gcc -w -g -std=gnu99 -D_GNU_SOURCE -D_POSIX_C_SOURCE=200809L -D_XOPEN_SOURCE=700 -I "$suite/include" -I "$(dirname "$1")" "$1" "$suite"/lib/*.c \
    -o "$work/${name%.c}" -lpthread -lrt 2>"$work/${name%.c}.compile" || rm -f "$work/${name%.c}"
}

# The exit status of a case; 124 after a minute. Under coz the whole run is an experiment, in which the others wait for one function.
run_case() {
  local folder
  folder=$(mktemp -d -p "$work")
  (
    cd "$folder" || exit 99
    if [[ $2 == plain ]]; then
      timeout -k 5 60 "$1" >output 2>&1
    else
      timeout -k 5 60 "$coz" run --end-to-end --unit=function --fixed-speedup=50 --sampling-period=0.1 --- "$1" >output 2>&1
    fi
  ) 2>/dev/null
  local status=$?
  rm -rf "$folder"
  echo "$status"
}

compare() {
  local plain profiled
  plain=$(run_case "$1" plain)
  profiled=$(run_case "$1" coz)
  if [[ $plain != "$profiled" ]]; then
    for _ in 1 2 3; do
      plain+=" $(run_case "$1" plain)"
      profiled+=" $(run_case "$1" coz)"
    done
    local one
    for one in $plain; do
      [[ " $profiled " == *" $one "* ]] && plain="unsteady $plain" && break
    done
  fi
  echo "$(basename "$1")|$plain|$profiled" >>"$work/results"
}
export -f compile run_case compare

cd "$suite/conformance/interfaces" || exit 2
# shellcheck disable=SC2086  # the interfaces are patterns
ls -d $(printf '%s/[0-9]*.c ' "${interfaces[@]}") 2>/dev/null | grep -v buildonly >"$work/cases"
xargs -P "$jobs" -I{} bash -c 'compile {}' <"$work/cases"
sed 's,/,.,g; s,\.c$,,' "$work/cases" | while read -r name; do [[ -x $work/$name ]] && echo "$work/$name"; done >"$work/programs"
xargs -P "$jobs" -I{} bash -c 'compare {}' <"$work/programs"

touch "$work/results"
sort "$work/results" | awk -F'|' -v cases="$(wc -l <"$work/cases")" '
  $2 == $3 { same[$2]++; next }
  $2 ~ /^unsteady/ { unsteady++; print "unsteady: " $1 ": " substr($2, 10) " without coz, " $3 " with it"; next }
  { differ++; print "DIFFERS: " $1 ": " $2 " without coz, " $3 " with it" }
  END {
    printf "%d cases, %d compiled", cases, NR
    printf "; the same with and without coz: %d passed, %d failed, %d unresolved, %d unsupported or untested, %d other", same[0], same[1], same[2],
      same[4] + same[5], NR - differ - unsteady - same[0] - same[1] - same[2] - same[4] - same[5]
    printf "; %d unsteady; %d differ\n", unsteady, differ
    exit differ > 0
  }'
