#!/bin/bash
# Fetches Debian's source of memcached, adds a progress point to each command, and builds it, with the load generator load.c.
# Usage: bench/servers/memcached/build.sh FOLDER      makes FOLDER/memcached/memcached and FOLDER/load
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:?usage: build.sh FOLDER}
mark_header=$(cd "$here/../../../coz/runtime" && pwd)
"$here/../debian_source.sh" "$folder" memcached
cd "$folder"
gcc -O2 -o load "$here/load.c"
[[ ! -e memcached/built ]] || exit 0
cd memcached
source=proto_text.c
grep -q COZ_PROGRESS_NAMED $source || {
  sed -i '/^void process_command_ascii(conn \*c, char \*command) {$/,/^}/ s/^    assert(c != NULL);/&\n    COZ_PROGRESS_NAMED("requests");/' $source
  sed -i '1i #include "coz.h"' $source
}
grep -q COZ_PROGRESS_NAMED $source
{ ./configure CFLAGS="-O2 -g -Wno-error -I$mark_header" && make -j2 memcached && touch built; } >make.log 2>&1 || {
  echo "memcached/build.sh: configure or make failed; read $PWD/make.log" >&2
  exit 1
}
