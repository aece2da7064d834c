#!/bin/bash
# The libraries of coz work in another workspace's program: it finds its own hottest line, and the line of an address.
set -uo pipefail

fail() {
  echo "FAILED: $1" >&2
  exit 1
}

ranked=$(./hotlines) || fail "hotlines ends with $?: $ranked"
echo "$ranked"
[[ $(sed -n 2p <<<"$ranked") == *"/hotlines.cc:"*"Heavy" ]] || fail "the hottest line is not in Heavy"
grep -q '::Light' <<<"$ranked" || fail "Light has no sample"

address=$(nm -C hotlines | sed -nE 's/^([0-9a-f]+) t .*Heavy\(\)$/\1/p')
[[ $(./hotlines hotlines "$address") == "$address  "*"/hotlines.cc:"*"Heavy" ]] || fail "line of $address"

for bad in "hotlines" "hotlines xyz" "no_such_program 1"; do
  # shellcheck disable=SC2086
  ./hotlines $bad >/dev/null 2>"$TEST_TMPDIR/err" && fail "takes '$bad'"
  [[ $(wc -l <"$TEST_TMPDIR/err") == 1 ]] || fail "one sentence for '$bad': $(cat "$TEST_TMPDIR/err")"
done
echo PASSED
