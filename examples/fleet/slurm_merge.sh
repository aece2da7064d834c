#!/bin/bash
# Merges the profiles of a fleet as a tree of Slurm array jobs.
#
#   COZ=coz FAN=100 examples/fleet/slurm_merge.sh OUTPUT.pb FOLDER [SBATCH-OPTION…]
#
# reads FOLDER/*.pb, and waits until OUTPUT.pb is there. A step merges FAN files of the level below.
# All nodes see FOLDER and OUTPUT.pb at the same path. A step that runs again, since its node died or
# you give the command again, counts nothing twice: `coz merge` gives a file its name when it is whole.
set -euo pipefail
coz=${COZ:-coz} fan=${FAN:-100}

# As a task of an array job: step LEVELS-FOLDER LEVEL. Its number says which lines of the list it takes.
step() {
  local levels=$1 level=$2 index=$SLURM_ARRAY_TASK_ID inputs
  local output=$levels/$level/$index.pb
  [[ ! -e $output ]] || return 0
  mapfile -t -s $((index * fan)) -n "$fan" inputs <"$levels/$level.list"
  "$coz" merge --compact -o "$output" "${inputs[@]}"
}

submit() {
  (($# >= 2)) || { echo "write: examples/fleet/slurm_merge.sh OUTPUT.pb FOLDER [SBATCH-OPTION...]" >&2; exit 2; }
  local output folder self
  output=$(realpath -m "$1") folder=$(realpath "$2") self=$(realpath "$0")
  shift 2
  local levels=$output.levels level=0 index jobs count previous="" last=()
  mkdir -p "$levels"
  find "$folder" -maxdepth 1 -name '*.pb' | sort >"$levels/0.list.new"
  if [[ -e $levels/0.list ]] && ! cmp -s "$levels/0.list" "$levels/0.list.new"; then
    echo "$levels has the steps of a merge of other files; remove that folder, then run this again" >&2
    exit 1
  fi
  mv "$levels/0.list.new" "$levels/0.list"
  count=$(wc -l <"$levels/0.list")
  ((count > 0)) || { echo "there is no *.pb in $folder" >&2; exit 1; }
  while :; do
    jobs=$(((count + fan - 1) / fan))
    mkdir -p "$levels/$level"
    ((jobs > 1)) || last=(--wait)
    # --requeue: the task of a node that died goes to another.
    previous=$(COZ=$coz FAN=$fan sbatch --parsable --requeue --job-name="coz-merge-$level" --array="0-$((jobs - 1))" \
      --output="$levels/$level/%a.log" --open-mode=append ${previous:+"--dependency=afterok:$previous"} \
      --kill-on-invalid-dep=yes "${last[@]}" "$@" "$self" step "$levels" "$level") || break
    ((jobs > 1)) || break
    for ((index = 0; index < jobs; ++index)); do echo "$levels/$level/$index.pb"; done >"$levels/$((level + 1)).list"
    level=$((level + 1)) count=$jobs
  done
  # A job that was cancelled since one before it failed is no failure of sbatch.
  if [[ ! -e $levels/$level/0.pb ]] || ((jobs > 1)); then
    echo "a step failed; see $levels/*/*.log, then give the same command again" >&2
    exit 1
  fi
  mv "$levels/$level/0.pb" "$output"
  rm -r "$levels"
  echo "the profiles of $(basename "$folder") are in $output: coz report $output"
}

if [[ ${1-} == step && -n ${SLURM_ARRAY_TASK_ID-} ]]; then step "${@:2}"; else submit "$@"; fi
