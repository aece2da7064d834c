#!/bin/bash
# Builds the .deb and the tarball of HEAD twice from scratch and compares them byte for byte: tools/package/reproducible.sh
# The second time in a clone at another path, with another umask, home folder, locale, number of jobs and, where Debian's package
# faketime is installed, another date. Takes some minutes of two CPUs each time. Exit status 0: the same bytes.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
clean_up() {
  # Bazel's outputs are read-only.
  chmod -R u+w "$work"
  rm -rf "$work"
}
trap clean_up EXIT

# Packages of a new clone at $work/$1 into $work/$1.packages. No server: the umask is to be ours.
build() {
  local clone=$work/$1
  git clone -q --shared "$root" "$clone"
  cd "$clone"
  ./bazelw --batch --output_base="$clone.base" build --disk_cache= --noshow_progress "${@:2}" //tools:deb //tools:tarball
  mkdir "$clone.packages"
  cp bazel-bin/tools/package/*.deb bazel-bin/tools/package/coz-*.tar.gz "$clone.packages"
}

date=()
faketime=$(compgen -G '/usr/lib/*/faketime/libfaketime.so.1' || true)
if [[ $faketime ]]; then
  # The clock alone: it would also give all files other dates than `touch` has set.
  date=(--action_env=LD_PRELOAD="$faketime" --action_env=FAKETIME=-400d --action_env=NO_FAKE_STAT=1)
else
  echo "reproducible.sh: the date will be the same; to vary it: apt-get install faketime" >&2
fi
mkdir -p "$work/home" "$work/elsewhere/and/deeper"
(umask 022; build one)
(umask 077; export HOME=$work/home LC_ALL=C.UTF-8; build elsewhere/and/deeper/two --jobs=3 "${date[@]}")

cd "$work"
sha256sum one.packages/* elsewhere/and/deeper/two.packages/*
if ! diff -r one.packages elsewhere/and/deeper/two.packages; then
  for packages in one.packages elsewhere/and/deeper/two.packages; do
    mkdir "$packages/files"
    tar -xzf "$packages"/coz-*.tar.gz -C "$packages/files"
  done
  diff -r one.packages/files elsewhere/and/deeper/two.packages/files || true
  echo "reproducible.sh: the packages differ" >&2
  exit 1
fi
echo "reproducible.sh: the same bytes"
