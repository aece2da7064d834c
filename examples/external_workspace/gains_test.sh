#!/bin/bash
# The report's libraries work in another workspace's program: it prints a profile's figures, and the JSON report.
set -euo pipefail

fail() {
  echo "FAILED: $1" >&2
  exit 1
}

profile=$1
printed=$(./gains "$profile")
echo "$printed"
[[ $printed == "requests  "*"a.cc:5  30 % faster: +15 % (13 to 17), slope 0.50 "* ]] || fail "the gain of a.cc:5"
json=$(./gains "$profile" --json)
[[ $json == '{"schema":"coz-report","schema_version":1,'*'/a.cc:5"'* ]] || fail "JSON: $json"

for bad in "" "no_such_profile.pb" "$profile --xml"; do
  # shellcheck disable=SC2086
  ./gains $bad >/dev/null 2>"$TEST_TMPDIR/err" && fail "takes '$bad'"
  [[ $(wc -l <"$TEST_TMPDIR/err") == 1 ]] || fail "one sentence for '$bad': $(cat "$TEST_TMPDIR/err")"
done
echo PASSED
