#!/bin/bash
# Fetches LevelDB (with Snappy, from the npm package leveldown). Builds its unmodified db_bench with
# -O2 -g.
# Usage: bench/servers/leveldb/build.sh FOLDER      makes FOLDER/db_bench, and two that differ a little:
# db_bench_sse, where LevelDB's own CRC32C uses the CPU's instruction (one file needs -msse4.2), and
# db_bench_pread, which reads its tables with pread() (pread_only.cc), with disk_reads.so for it.
set -euo pipefail
folder=${1:?usage: build.sh FOLDER}
here=$(dirname "$(realpath "$0")")
package=leveldown@6.1.1 # LevelDB 1.20
mkdir -p "$folder"
cd "$folder"
if [[ ! -e package/deps/leveldb ]]; then
  npm pack --silent "$package" >/dev/null
  tar xzf leveldown-*.tgz package/deps
fi
leveldb=package/deps/leveldb/leveldb-1.20
snappy=package/deps/snappy
options=(-O2 -g -std=c++11 -fno-builtin-memcmp -pthread -w -DNDEBUG -DOS_LINUX -DLEVELDB_PLATFORM_POSIX -DSNAPPY -DSNAPPY=1
  -I"$leveldb" -I"$leveldb/include" -I"$snappy/linux" -I"$snappy/snappy")
sources=("$leveldb"/db/*.cc "$leveldb"/table/*.cc "$leveldb"/util/*.cc "$leveldb"/port/*.cc "$leveldb"/helpers/memenv/memenv.cc
  "$snappy"/snappy/snappy.cc "$snappy"/snappy/snappy-sinksource.cc "$snappy"/snappy/snappy-stubs-internal.cc)
mkdir -p objects
for source in "${sources[@]}"; do
  case $source in
    *_test.cc | */leveldbutil.cc | */testutil.cc | */testharness.cc | */db_bench.cc | */port_win.cc | */env_win.cc | */win_*) continue ;;
  esac
  echo "$source"
done >objects/list
echo "$leveldb/db/db_bench.cc" >>objects/list
echo "$leveldb/util/testutil.cc" >>objects/list
echo "$leveldb/util/testharness.cc" >>objects/list
compile() {
  object=objects/$(echo "$1" | tr / _).o
  [[ $object -nt $1 ]] || g++ "${options[@]}" -c "$1" -o "$object"
}
while read -r source; do compile "$source"; done <objects/list
g++ -pthread objects/*.o -o db_bench
mkdir -p objects_sse
cp -u objects/*.o objects_sse/
sse=$leveldb/port/port_posix_sse.cc
g++ "${options[@]}" -msse4.2 -DLEVELDB_PLATFORM_POSIX_SSE -c "$sse" -o objects_sse/"$(echo "$sse" | tr / _)".o
g++ -pthread objects_sse/*.o -o db_bench_sse
g++ "${options[@]}" -c "$here/pread_only.cc" -o pread_only.o
g++ -pthread objects/*.o pread_only.o -o db_bench_pread
gcc -O2 -shared -fPIC -o disk_reads.so "$here/disk_reads.c"
echo "$PWD/db_bench"
