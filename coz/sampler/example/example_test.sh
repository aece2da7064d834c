#!/bin/bash
# Both functions have samples, the one that works three times as long has more, few lie elsewhere. Each
# line of the example in sampler.h is one of its own.
set -euo pipefail
printed=$(coz/sampler/example/example)
echo "$printed"
pattern=$'^Seldom: ([0-9]+) periods\nOften: ([0-9]+) periods\nelsewhere: ([0-9]+) periods$'
[[ $printed =~ $pattern ]] || { echo "not the three lines expected"; exit 1; }
seldom=${BASH_REMATCH[1]} often=${BASH_REMATCH[2]} elsewhere=${BASH_REMATCH[3]}
((seldom > 0 && often > seldom)) || { echo "not told apart"; exit 1; }
((4 * elsewhere < seldom + often)) || { echo "callchains lead elsewhere"; exit 1; }
lines=0
while read -r line; do
  grep -qF -- "$line" coz/sampler/example/example.cc || { echo "not in the example: $line"; exit 1; }
  lines=$((lines + 1))
done < <(sed -n 's|^//   \(.*;\)$|\1|p' coz/sampler/sampler.h)
((lines == 3)) || { echo "sampler.h shows $lines lines of the example"; exit 1; }
