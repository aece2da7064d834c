#!/bin/bash
# Fetches the upstream part of one of Debian's source packages and unpacks it.
# Usage: bench/servers/debian_source.sh FOLDER PACKAGE      makes FOLDER/PACKAGE
set -euo pipefail
folder=${1:?usage: debian_source.sh FOLDER PACKAGE} package=${2:?usage: debian_source.sh FOLDER PACKAGE}
[[ ! -e $folder/$package ]] || exit 0
mkdir -p "$folder/apt/lists/partial"
cd "$folder"
found() { compgen -G "${package}_*.orig.tar.*"; }
if ! found >/dev/null; then
  # The machine's own package sources, with source packages switched on for this once.
  sed 's/^Types: deb$/Types: deb-src/' /etc/apt/sources.list.d/debian.sources >apt/source.sources
  options=(-o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$PWD/apt" -o "Dir::State::Lists=$PWD/apt/lists")
  apt-get "${options[@]}" update >/dev/null
  # Of the source package's files only this one is needed: a mirror that has dropped the others is good enough.
  apt-get "${options[@]}" source --download-only "$package" >apt/source.log 2>&1 || found >/dev/null || {
    echo "debian_source.sh: apt-get source $package brought no ${package}_*.orig.tar.*; see $PWD/apt/source.log, then run: apt-get update" >&2
    exit 1
  }
fi
# Under its name only when it is whole.
rm -rf unpacking && mkdir unpacking
tar xf "$(found | head -1)" --strip-components=1 -C unpacking
mv unpacking "$package"
