#!/bin/bash
# Fetches Debian's source of redis, adds a progress point to each command, and builds the server with libc's malloc.
# Usage: bench/servers/redis/build.sh FOLDER      makes FOLDER/redis/src/redis-server
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:?usage: build.sh FOLDER}
mark_header=$(cd "$here/../../../coz/runtime" && pwd)
"$here/../debian_source.sh" "$folder" redis
cd "$folder/redis/src"
[[ ! -e built ]] || exit 0
source=networking.c
grep -q COZ_PROGRESS_NAMED $source || {
  # Called once for each command that has been run.
  sed -i '/^void commandProcessed(client \*c) {$/,/^}/ s/^    resetClient(c);/    COZ_PROGRESS_NAMED("requests");\n\n&/' $source
  sed -i '0,/^#include "server.h"/s//&\n#include "coz.h"/' $source
}
grep -q COZ_PROGRESS_NAMED $source
{ make -j2 MALLOC=libc OPTIMIZATION=-O2 REDIS_CFLAGS="-g -I$mark_header" redis-server && touch built; } >make.log 2>&1 || {
  echo "redis/build.sh: make failed; read $PWD/make.log" >&2
  exit 1
}
