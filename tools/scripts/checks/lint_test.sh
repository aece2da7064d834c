#!/bin/bash
# What lint.sh looks at, in which order, and how it ends, with a clock and a clang-tidy that are made
# here: each file takes 60 s; bad.cc has a finding, and slow.cc takes longer than there is time.
set -euo pipefail
if ! command -v git >/dev/null; then
  echo "skipped: git is required, and not here"
  exit 0
fi
lint=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/bin" "$folder/tree/tools/scripts"

program() {
  cat >"$1"
  chmod +x "$1"
}
program "$folder/bin/date" <<<"#!/bin/bash
cat $folder/clock"
program "$folder/bin/nproc" <<<'#!/bin/bash
echo 1'
program "$folder/bin/timeout" <<<'#!/bin/bash
shift
exec "$@"'
program "$folder/bin/clang-tidy-14" <<<"#!/bin/bash
file=\${@: -1}
echo \"\$file\" >>$folder/looked
echo \$((\$(cat $folder/clock) + 60)) >$folder/clock
case \$file in bad.cc) exit 1 ;; slow.cc) exit 124 ;; esac"
export PATH=$folder/bin:$PATH

cd "$folder/tree"
cp "$lint" tools/scripts/lint.sh
# Bazel compiles all but those of no target.
program tools/scripts/compile_commands.py <<<'#!/bin/bash
for source in "$@"; do if [[ $source != untargeted.cc ]]; then echo "$source"; fi; done'
git init -q .
commit() {
  for file in "$@"; do echo "// $RANDOM$RANDOM" >>"$file"; done
  git add .
  git -c user.name=Test -c user.email=test@example.com commit -qm "$*"
}

# Runs lint.sh with the arguments from $3; it is to end with status $1, and to look at the files $2.
expect() {
  local status=0
  echo 1000 >"$folder/clock"
  : >"$folder/looked"
  tools/scripts/lint.sh "${@:3}" >"$folder/output" 2>&1 || status=$?
  if [[ $status != "$1" || $(paste -sd ' ' "$folder/looked") != "$2" ]]; then
    echo "lint.sh ${*:3}: status $status instead of $1, looked at '$(paste -sd ' ' "$folder/looked")' instead of '$2':"
    cat "$folder/output"
    exit 1
  fi
}
said() {
  grep -qF "$1" "$folder/output" || { echo "nothing says '$1':"; cat "$folder/output"; exit 1; }
}

commit unchanged.cc gone.cc old.cc beside.cc new.cc
first=$(git rev-parse HEAD)
commit old.cc new.cc untargeted.cc
commit beside.h
git rm -q gone.cc
commit new.cc
expect 0 "new.cc beside.cc old.cc" "$first"
expect 0 "" HEAD
said "no source to look at"

# The deadline is 1100: the third would start at 1120.
expect 0 "new.cc beside.cc" --seconds 100 "$first"
said "looked at 2 of 3 sources"
said "no time after 100 s for the other 1; the next is old.cc"

expect 0 "new.cc beside.cc" --most 2 "$first"
said "the 2 of 3 sources that were changed last"
expect 0 "new.cc" --most 2 --seconds 60 "$first"

commit slow.cc
expect 0 "slow.cc" --seconds 60 "$first"
said "looked at 0 of 4 sources"

# A finding counts, whether or not time runs out after it.
commit bad.cc
expect 1 "bad.cc slow.cc new.cc beside.cc old.cc" "$first"
expect 1 "bad.cc" --seconds 60 "$first"

# An uncommitted change is the newest.
echo "// more" >>old.cc
expect 1 "old.cc bad.cc" --seconds 120 "$first"
expect 0 "old.cc"
