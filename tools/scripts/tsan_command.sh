#!/bin/bash
# Runs tests of tools/end_to_end with a coz that has the thread sanitizer in it, beside a libcoz.so that has not: no program
# starts with one that has. Usage: tsan_command.sh [NAME...]
#
# Without a name it runs all but attach_faults_test, which has calls of the sanitizer fail, too. A coz that is slower may fail
# some cases, and so does sanitized_test, whose program looks for its own report. The exit status is 1 only where it found a race.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
limit_s=${COZ_TSAN_SECONDS:-300}  # of one test

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
./bazelw build --noshow_progress --config=tsan //tools:coz
cp -L bazel-bin/tools/coz "$folder/coz"

names=("$@")
if ((${#names[@]} == 0)); then
  mapfile -t names < <(./bazelw query 'kind(cc_test, //tools/end_to_end:all) except attr(tags, "perf|browser", //tools/end_to_end:all)' | sed 's/.*://' | grep -vx attach_faults_test)
fi
./bazelw build --noshow_progress "${names[@]/#///tools/end_to_end:}"

# A test's files, with the other coz among them.
races=0
for name in "${names[@]}"; do
  files=$folder/$name/files
  mkdir -p "$folder/$name/tmp"
  cp -a "bazel-bin/tools/end_to_end/$name.runfiles" "$files"
  cp --remove-destination "$folder/coz" "$files/coz/tools/coz"
  status=0
  TSAN_OPTIONS="log_path=$folder/$name/race exitcode=0" TEST_SRCDIR=$files TEST_WORKSPACE=coz TEST_TMPDIR=$folder/$name/tmp \
    timeout "$limit_s" "bazel-bin/tools/end_to_end/$name" >"$folder/$name/log" 2>&1 || status=$?
  # Programs of the test that have the sanitizer write such files, too.
  mapfile -t found < <(grep -lsF '(coz+0x' "$folder/$name"/race.* || true)
  echo "$name: status $status, $(grep -c '^\[       OK' "$folder/$name/log" || true) cases passed, ${#found[@]} coz with a race"
  if ((${#found[@]})); then
    races=1
    head -n 60 "${found[@]}"
  fi
  rm -rf "$files" "$folder/$name/tmp"
done
exit "$races"
