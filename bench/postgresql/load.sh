#!/bin/bash
# Runs PostgreSQL's server, and pgbench that asks for single rows over loopback from two backends.
# Prints pgbench's rate. Ends after SECONDS.
# With SLOW_SEND_US=N in the environment each answer takes N us more. That needs
# FOLDER/slow_send.so, which profile.sh or what_if.sh makes.
# Usage: bench/postgresql/load.sh FOLDER SECONDS      (not as root, which PostgreSQL refuses; FOLDER keeps the database)
set -euo pipefail
folder=${1:?usage: load.sh FOLDER SECONDS} seconds=${2:?}
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -1)
[[ -x $bin/postgres && -x $bin/pgbench ]] || { echo "load.sh: PostgreSQL is missing; run: apt-get install postgresql" >&2; exit 1; }
port=54329
if [[ ! -e $folder/data/made ]]; then
  rm -rf "$folder/data"
  "$bin/initdb" -D "$folder/data" -A trust --no-sync >/dev/null
fi
slow=()
((${SLOW_SEND_US:-0} == 0)) || slow=(env "LD_PRELOAD=$folder/slow_send.so${LD_PRELOAD:+:$LD_PRELOAD}")
"${slow[@]}" "$bin/postgres" -D "$folder/data" -p $port -k "$folder" -c listen_addresses=127.0.0.1 -c fsync=off -c autovacuum=off \
  -c shared_buffers=64MB -c log_min_messages=fatal -c bgwriter_lru_maxpages=0 2>"$folder/log" &
server=$!
trap 'kill -INT $server 2>/dev/null; wait $server || true' EXIT
for _ in $(seq 100); do "$bin/pg_isready" -q -h 127.0.0.1 -p $port && break; sleep 0.1; done
if [[ ! -e $folder/data/made ]]; then
  "$bin/pgbench" -h 127.0.0.1 -p $port -i -q -s 2 postgres >/dev/null 2>&1
  touch "$folder/data/made"
fi
"$bin/pgbench" -h 127.0.0.1 -p $port -S -n -c 2 -j 1 -T "$seconds" postgres 2>&1 | grep -E '^tps|latency average'
