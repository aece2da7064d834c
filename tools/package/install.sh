#!/bin/bash
# Copies the product under a prefix: ./bazelw run //tools:install -- --prefix=DIR
set -euo pipefail
# Built beside this script, in the output tree as in a test's.
tree=$(dirname "$0")/tree.tar.gz
usage="./bazelw run //tools:install -- --prefix=DIR"

fail() {
  echo "install: $1" >&2
  exit 1
}

prefix=
while (($#)); do
  case $1 in
    --prefix=*) prefix=${1#--prefix=} ;;
    --prefix) shift; prefix=${1-} ;;
    --help | -h) echo "Copies coz, its library, coz.h, and files for pkg-config and CMake under DIR: $usage"; exit 0 ;;
    *) fail "there is no option $1; write: $usage" ;;
  esac
  shift || true
done
[[ $prefix ]] || fail "no folder to install into was given; write: $usage"
# `bazel run` has changed the folder.
[[ $prefix == /* ]] || prefix=${COZ_CALLER_PWD:-${BUILD_WORKING_DIRECTORY:-$PWD}}/$prefix
mkdir -p "$prefix" 2>/dev/null && [[ -w $prefix ]] || fail "cannot write to $prefix; name another folder with --prefix, or use sudo"
# Unpacked beside its place and moved there file by file: what runs keeps its old file, and folders that are there keep their rights.
parts=$(mktemp -d "$prefix/.coz-install.XXXXXX")
trap 'rm -rf "$parts"' EXIT
tar -xzf "$tree" -C "$parts" --no-same-owner --touch || fail "cannot unpack into $prefix; is the disk full?"
while IFS= read -r -d '' file; do
  mkdir -p "$prefix/$(dirname "$file")"
  mv -f "$parts/$file" "$prefix/$file" || fail "cannot replace $prefix/$file; name another folder with --prefix"
done < <(find "$parts" -type f -printf '%P\0')
echo "coz is installed; run it with $prefix/bin/coz"
