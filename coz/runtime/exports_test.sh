#!/bin/bash
# What libcoz.so ($1) lets programs see. It exports all that the tables of wrapped calls name, as
# $2 prints it, its own _coz_ interface, and nothing else; and the version script ($3) has just the
# versions of the tables. Where libc has several public names for a wrapped call, by which programs
# can be bound to it today, all are exported: else a program could wait without being seen to.
set -u
status=0

fail() {
  echo "$*" >&2
  status=1
}

# differ TITLE ONE OTHER: fails with the lines of ONE that OTHER lacks.
differ() {
  local lines
  lines=$(comm -23 <(sort -u <<<"$2") <(sort -u <<<"$3"))
  [ -z "$lines" ] || fail "$1:" $lines
}

symbols=$(readelf --dyn-syms --wide "$1" |
  awk '$5 != "LOCAL" && ($4 == "FUNC" || $4 == "OBJECT" || $4 == "TLS" || $4 == "NOTYPE") && $7 != "UND" && $7 != "ABS" && NF >= 8 { print $8 }' |
  grep -v '^Name$')
tables=$("$2") || fail "$2 failed"
interface="_coz_add_delays _coz_attach _coz_change_code _coz_detach _coz_end_signals _coz_get_counter _coz_post_block _coz_pre_block _coz_sample_by_timers _coz_thread_counter _coz_timed_visit"
wanted=$tables$'\n'${interface// /$'\n'}
differ "exported, and in no table" "$symbols" "$wanted"
differ "in a table, and not exported" "$wanted" "$symbols"
repeated=$(sort <<<"$wanted" | uniq -d)
[ -z "$repeated" ] || fail "in two tables: $repeated"

# The version script: NAME { ... }; for each version.
in_script=$(sed -nE 's/^([A-Z]+_[0-9.]+) .*/\1/p' "$3")
in_tables=$(sed -nE 's/^[^@]+@+//p' <<<"$tables")
differ "version in the script, and of no table" "$in_script" "$in_tables"
differ "version of a table, and not in the script" "$in_tables" "$in_script"
by_default=$(awk '/^[A-Z]+_[0-9.]+ / { version = $1 } version != "" && /;/ {
    for (i = 1; i <= NF; ++i) if ($i ~ /^[a-z_]+;$/) print substr($i, 1, length($i) - 1) "@@" version }' "$3")
differ "default version in the script, and of no table" "$by_default" "$tables"
differ "default version of a table, and not in the script" "$(grep '@@' <<<"$tables")" "$by_default"

libc=$(ldd "$1" | awk '$1 == "libc.so.6" { print $3 }')
of_libc=$(readelf --dyn-syms --wide "$libc" |
  awk '($4 == "FUNC" || $4 == "IFUNC") && $8 ~ /@@/ && $8 !~ /@@GLIBC_PRIVATE/ { sub(/@@.*/, "", $8); print $2, $8 }')
# pthread_spin_init is another call with the same code.
missing=$(awk '
  NR == FNR { sub(/@.*/, ""); ours[$0] = 1; next }
  $2 in ours { call[$1] = $2; ++known }
  !($2 in ours) && $2 != "pthread_spin_init" { others[$1] = others[$1] " " $2 }
  END {
    if (known < 100) print "of libc no more than " known
    for (address in call) if (address in others) print others[address] " (" call[address] ")"
  }' <(echo "$symbols") <(echo "$of_libc"))
[ -z "$missing" ] || fail "second name, and not exported: $missing"
needed=$(readelf --dynamic --wide "$1" | grep NEEDED | grep -Ev 'libc\.so\.6|ld-linux')
[ -z "$needed" ] || fail "needs more than libc: $needed"
exit $status
