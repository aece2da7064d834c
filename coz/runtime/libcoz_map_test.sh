#!/bin/bash
# What libcoz.so ($1) lets programs see: libc's names without a version, but conditions in both of theirs; libgomp's with theirs and not as the default; its own
# _coz_ interface, and nothing of the C++ library that is linked in. Where libc has several public names for a call, by which programs can be
# bound to it today, it has all of them: else a program could wait without being seen to.
set -u
symbols=$(readelf --dyn-syms --wide "$1" |
  awk '$5 != "LOCAL" && ($4 == "FUNC" || $4 == "OBJECT" || $4 == "TLS" || $4 == "NOTYPE") && $7 != "UND" && $7 != "ABS" { print $8 }')
status=0

fail() {
  echo "$*" >&2
  status=1
}

for name in pthread_mutex_lock pthread_cond_clockwait syscall read sigaction _coz_get_counter; do
  grep -qx "$name" <<<"$symbols" || fail "$name is not exported without a version"
done
for name in GOMP_parallel@GOMP_4.0 GOMP_barrier@GOMP_1.0 omp_set_lock@OMP_3.0; do
  grep -qx "$name" <<<"$symbols" || fail "$name is not exported"
done
for name in wait timedwait signal broadcast; do
  for version in @GLIBC_2.2.5 @@GLIBC_2.3.2; do
    grep -qx "pthread_cond_$name$version" <<<"$symbols" || fail "pthread_cond_$name$version is not exported"
  done
done
grep '@@' <<<"$symbols" | grep -v '^pthread_cond_[a-z]*@@GLIBC_2.3.2$' && fail "no other default version may be defined"
grep -E '^(_Z|Coz|__cxa|__gxx|_Unwind|__gcc|_end$|__bss_start$)' <<<"$symbols" && fail "must be hidden"
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
[ -z "$missing" ] || fail "not exported: $missing"
needed=$(readelf --dynamic --wide "$1" | grep NEEDED | grep -Ev 'libc\.so\.6|ld-linux')
[ -z "$needed" ] || fail "needs more than libc: $needed"
exit $status
