#!/bin/bash
# Both functions have samples, the one that works three times as long has more, few lie elsewhere.
set -euo pipefail
printed=$(coz/sampler/example/example)
echo "$printed"
pattern=$'^Seldom: ([0-9]+) periods\nOften: ([0-9]+) periods\nelsewhere: ([0-9]+) periods$'
[[ $printed =~ $pattern ]] || { echo "not the three lines expected"; exit 1; }
seldom=${BASH_REMATCH[1]} often=${BASH_REMATCH[2]} elsewhere=${BASH_REMATCH[3]}
((seldom > 0 && often > seldom)) || { echo "not told apart"; exit 1; }
((4 * elsewhere < seldom + often)) || { echo "callchains lead elsewhere"; exit 1; }
