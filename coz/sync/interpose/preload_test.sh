#!/bin/bash
# Runs programs with the wrapped calls preloaded, those of other versions among them: $1 is the library, the others are the programs.
set -u
library=$PWD/$1
shift
for program in "$@"; do
  if ! LD_PRELOAD=$library timeout 100 "$program"; then
    echo "$program failed" >&2
    exit 1
  fi
done
