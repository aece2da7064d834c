#!/bin/bash
# Downloads a Debian package and unpacks it beside, without installing it: nothing of it comes on the path.
# Needs no root. Prints the folder.
#
#   third_party/debian/unpack.sh coz-profiler /tmp/original    # the original Coz: /tmp/original/usr/bin/coz
set -euo pipefail
(($# == 2)) || { echo "usage: unpack.sh PACKAGE FOLDER" >&2; exit 2; }
package=$1
mkdir -p "$2"
folder=$(cd "$2" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

download() { apt-get -q -o APT::Sandbox::User=root "$@" download "$package" >>log 2>&1; }

# Lists of one's own, where the machine's are missing or old.
update_and_download() {
  local own=(-o Dir::State::Lists="$work/lists" -o Dir::Cache="$work/cache")
  mkdir -p lists/partial cache/archives/partial
  apt-get -q -o APT::Sandbox::User=root "${own[@]}" update >>log 2>&1 && download "${own[@]}"
}

if ! download && ! update_and_download; then
  echo "unpack.sh: cannot download $package: $(tail -n 1 log); try: apt-get download $package" >&2
  exit 1
fi
dpkg-deb -x ./*.deb "$folder"
echo "$folder"
