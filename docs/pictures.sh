#!/bin/bash
# Makes the pictures of the documentation: profiles the example programs and photographs their HTML reports in a headless
# Chromium. Leave the machine otherwise idle. Usage: docs/pictures.sh [FOLDER with profiles of an earlier run]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
./bazelw build //tools:coz //examples:all //bench/plot:photograph
coz=$PWD/bazel-bin/tools/coz
out=$PWD/docs/pictures
work=${1:-$(mktemp -d)}
mkdir -p "$out" "$work"

# profile NAME SECONDS [option...]
profile() {
  local name=$1 seconds=$2
  shift 2
  [[ -e $work/$name.pb ]] || "$coz" run -o "$work/$name.pb" --seed=1 "$@" --- "bazel-bin/examples/$name" "$seconds"
  "$coz" plot "$work/$name.pb" -o "$work/$name.html"
}

# photograph NAME PICTURE WIDTH HEIGHT [STATE [dark]]
photograph() {
  bazel-bin/bench/plot/photograph "$work/$1.html" "$out/$2.png" "${@:3}"
}

profile pipeline 60
profile contention 60
profile phases 64
profile overload 60
photograph pipeline report 1360 860 ''
photograph pipeline report-dark 1360 860 '' dark
photograph pipeline pipeline 1000 620 ''
photograph contention contention 1000 620 'sort=hurts'
photograph overload overload 1000 620 ''
photograph phases phases 1000 470 view=timeline
photograph pipeline run 1000 640 view=run
echo "The pictures are in $out, the profiles in $work."
