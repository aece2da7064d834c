#!/bin/bash
# Every subcommand and option that --help names stands in the man page and in each shell's completion, and they work.
set -uo pipefail
coz=$PWD/tools/coz
cd tools/documentation || exit

failures=0
fail() {
  echo "FAILED: $1" >&2
  failures=$((failures + 1))
}

# has PROGRAM: is it here? --config=browser installs all, so that nothing is left out unseen.
has() {
  command -v "$1" >/dev/null && return
  [[ ${COZ_REQUIRE_TOOLS-} ]] && fail "$1 is not here; apt-get install $1"
  echo "$1: not here, not asked"
  return 1
}

names=$("$coz" --help | sed -nE 's/^  ([a-z]+) .*/\1/p')
(($(wc -w <<<"$names") >= 10)) || fail "--help names too few subcommands: $names"
plain=$TEST_TMPDIR/plain.1
sed 's/\\-/-/g; s/\\f[BRI]//g' coz.1 >"$plain"
checked=0
for name in $names; do
  page=$(sed -n "/^\.SS coz $name\$/,/^\.S[SH]/p" "$plain" | sed 1d)
  bash_options=$(sed -n '/^_coz_options/,$p' coz.bash | grep -E "^    $name\)")
  zsh_options=$(sed -n "/^    $name)\$/,/;;/p" _coz)
  fish_options=$(grep -F "__fish_seen_subcommand_from $name;" coz.fish)
  [[ $page ]] || fail "man page lacks $name"
  [[ $bash_options ]] || fail "bash lacks $name"
  [[ $zsh_options ]] || fail "zsh lacks $name"
  grep -q -- "-a $name " coz.fish || fail "fish lacks $name"
  for option in $("$coz" "$name" --help | sed -nE 's/^  (-.*)/\1/p' | sed -E 's/  .*//' | grep -oE -- '(^|, )-[a-z-]+' | tr -d ', '); do
    checked=$((checked + 1))
    grep -qE -- "(^|[ ,])$option([ =,]|\$)" <<<"$page" || fail "man page lacks $name $option"
    grep -qE -- "[ ']${option}[ ']" <<<"$bash_options" || fail "bash lacks $name $option"
    grep -qE -- "'\*?${option}[+=]?\[" <<<"$zsh_options" || fail "zsh lacks $name $option"
    in_fish=${option/#--/-l }
    [[ $option == --* ]] || in_fish="-s ${option#-}"
    grep -qE -- " $in_fish( |\$)" <<<"$fish_options" || fail "fish lacks $name $option"
  done
done
((checked >= 60)) || fail "only $checked options were found in --help"
grep -hE '(^| )documentation ' coz.1 coz.bash _coz coz.fish && fail "a hidden command is shown"
grep -qx '\\fB--append\\fR' <(sed 's/\\-/-/g' coz.1) || fail "a flag has a value in the man page"
grep -qF -- '--progress-sampled=FILE:LINE' "$plain" || fail "the name of a value is cut"
grep -qF -- '--experiment-length=SECONDS' "$plain" || fail "a value is named after its type"
grep -q "'--append\[" _coz || fail "a flag has a value in zsh"
grep -q -- '-l append -d' coz.fish || fail "a flag has a value in fish"

# The last word is the one to complete; bash would split at "=" as here.
complete_bash() {
  bash --norc -c 'source ./coz.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _coz; printf "%s\n" "${COMPREPLY[@]}"' _ "$@" | sort | paste -sd' '
}
expect() {
  local expected=$1 got
  shift
  got=$(complete_bash "$@")
  [[ $got == "$expected" ]] || fail "completes '$*' to '$got', not '$expected'"
}
expect "--fixed-line --fixed-speedup --fixed-unit" coz run --fi
expect "--fixed-line --fixed-speedup --fixed-unit" coz run --append --fi
expect "report" coz rep
expect "--version" coz --v
expect "function" coz run --unit = fu
expect "file function library line path wait" coz run --unit =
expect "callers innermost" coz run --attribution ""
expect "coz.1" coz run -o coz.1
expect "report" coz help rep
expect "coz.fish" coz report coz.f
expect "coz.fish" coz run --- ./program coz.f
[[ " $(complete_bash coz run --- tru) " == *" true "* ]] || fail "completes the program's name"

if has mandoc; then
  mandoc -T lint -W warning coz.1 >"$TEST_TMPDIR/lint"
  grep -v 'missing date' "$TEST_TMPDIR/lint" >&2 && fail "mandoc warns"
fi
if has groff; then
  groff -man -Tutf8 -ww -rLL=100n -P-cbou coz.1 2>"$TEST_TMPDIR/warnings" >"$TEST_TMPDIR/page"
  [[ -s $TEST_TMPDIR/warnings ]] && fail "groff warns: $(cat "$TEST_TMPDIR/warnings")"
  grep -qF 'coz run [options] --- PROGRAM [ARGUMENTS]' "$TEST_TMPDIR/page" || fail "the synopsis is not readable"
  grep -qF 'coz run --- ./server --port 8080' "$TEST_TMPDIR/page" || fail "an example cannot be copied"
  grep -q 'SEE ALSO' "$TEST_TMPDIR/page" || fail "the page ends early"
fi
bash -n coz.bash || fail "bash refuses its script"
if has zsh; then
  zsh -n _coz || fail "zsh refuses its script"
  # Its completion needs a line editor, which needs a terminal. Reads wait until the text is there.
  cat >"$TEST_TMPDIR/complete.zsh" <<'ZSH'
zmodload zsh/zpty
zpty z "TERM=dumb HOME=$TEST_TMPDIR zsh -f -i"
zpty -w z "fpath=($PWD \$fpath); autoload -U compinit; compinit -u -D; LISTMAX=1000; echo REA''DY"
zpty -r z text '*READY*'
zpty -w -n z $'coz run --fixed-\t'
zpty -r z text '*--fixed-unit*--fixed-line*'
print -r -- "$text"
zpty -d z
ZSH
  got=$(timeout 30 zsh -f "$TEST_TMPDIR/complete.zsh") || fail "zsh completes to nothing"
  [[ $got == *--fixed-speedup* ]] || fail "zsh completes to '$got'"
fi
if has fish; then
  got=$(HOME=$TEST_TMPDIR fish --no-config -c 'source coz.fish; complete -C "coz run --fixed-s"' | cut -f1)
  [[ $got == *--fixed-speedup* ]] || fail "fish completes to '$got'"
  in_fish() { HOME=$TEST_TMPDIR fish --no-config -c "source coz.fish; complete -C '$1'"; }
  [[ $(in_fish "coz help re") == report$'\t'* || $(in_fish "coz help re") == report ]] ||
    fail "fish completes 'coz help re' to '$(in_fish "coz help re")'"
  [[ $(in_fish "coz export --format=" | cut -f2 | sort -u) == "what to write" ]] ||
    fail "fish describes formats as '$(in_fish "coz export --format=")'"
  [[ $(in_fish "coz run --unit=w") == *wait$'\t'"what is sped up as a whole" ]] ||
    fail "fish describes units as '$(in_fish "coz run --unit=w")'"
fi
((failures == 0)) && echo "PASSED: $checked options"
exit $((failures != 0))
