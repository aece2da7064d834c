#!/bin/bash
# Fetches the SQLite amalgamation, and builds the load driver with it.
# Usage: bench/servers/sqlite/build.sh FOLDER [COMPILER OPTIONS...]      makes FOLDER/driver
# COZ_H=FOLDER uses another coz.h than ours, for example the original's. SQLITE_C=FILE uses another
# sqlite3.c.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:?usage: build.sh FOLDER [COMPILER OPTIONS...]}
shift
package=better-sqlite3@11.8.1 # SQLite 3.48.0
mkdir -p "$folder"
cd "$folder"
if [[ ! -e package/deps/sqlite3/sqlite3.c ]]; then
  npm pack --silent "$package" >/dev/null
  tar xzf better-sqlite3-*.tgz package/deps/sqlite3
fi
gcc -O2 -g "$@" -DSQLITE_THREADSAFE=1 -I"${COZ_H:-$here/../../../coz/runtime}" -Ipackage/deps/sqlite3 \
  -o driver "$here/driver.c" "${SQLITE_C:-package/deps/sqlite3/sqlite3.c}" -lpthread -ldl -lm
echo "$folder/driver"
