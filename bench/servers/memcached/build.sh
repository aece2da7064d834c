#!/bin/bash
# Fetches Debian's source of memcached, adds a progress point to each command, and builds it, with the load generator load.c.
# Usage: bench/servers/memcached/build.sh FOLDER [COMPILER OPTIONS...]      makes FOLDER/memcached/memcached and FOLDER/load
# COZ_H=FOLDER uses another coz.h than ours, for example the original's.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:?usage: build.sh FOLDER [COMPILER OPTIONS...]}
shift
mark_header=${COZ_H:-$(cd "$here/../../../coz/runtime" && pwd)}
"$here/../debian_source.sh" "$folder" memcached
cd "$folder"
gcc -O2 -pthread -o load "$here/load.c"
[[ ! -e memcached/built ]] || exit 0
cd memcached
source=proto_text.c
grep -q COZ_PROGRESS_NAMED $source || {
  sed -i '/^void process_command_ascii(conn \*c, char \*command) {$/,/^}/ s/^    assert(c != NULL);/&\n    COZ_PROGRESS_NAMED("requests");/' $source
  sed -i 's/^#include "memcached.h"$/&\n#include "coz.h"/' $source
}
grep -q COZ_PROGRESS_NAMED $source
{ ./configure CFLAGS="-O2 -g -Wno-error -isystem $mark_header $*" && make -j2 memcached && touch built; } >make.log 2>&1 || {
  echo "memcached/build.sh: configure or make failed; read $PWD/make.log" >&2
  exit 1
}
