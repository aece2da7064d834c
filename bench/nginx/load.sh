#!/bin/bash
# Runs nginx with two workers that compress every answer, and wrk that sends requests over loopback.
# Prints wrk's rate and the workers' CPU time per request. Ends after SECONDS.
# Usage: bench/nginx/load.sh FOLDER SECONDS [COMPRESSION-LEVEL]
set -euo pipefail
folder=${1:?usage: load.sh FOLDER SECONDS [LEVEL]} seconds=${2:?} level=${3:-6}
cat >"$folder/run/conf/nginx.conf" <<END
daemon off;
worker_processes 2;
worker_cpu_affinity 01 10;
pid $folder/run/nginx.pid;
error_log $folder/run/logs/error.log;
events { worker_connections 64; }
http {
  include mime.types;
  access_log off;
  gzip on;
  gzip_comp_level $level;
  gzip_types text/plain;
  keepalive_requests 1000000000;
  server {
    listen 127.0.0.1:8089 reuseport;
    root $folder/run/html;
  }
}
END
"$folder/nginx/objs/nginx" &
server=$!
trap 'kill -QUIT $server 2>/dev/null; wait $server' EXIT
for _ in $(seq 50); do (: </dev/tcp/127.0.0.1/8089) 2>/dev/null && break; sleep 0.1; done
sockets() { find "/proc/$1/fd" -lname 'socket:*' 2>/dev/null | wc -l; }  # of which some close meanwhile
connections() { echo $(($(sockets "${workers[0]}") + $(sockets "${workers[1]}") - listening)); }
await() { for _ in $(seq 500); do "$@" && return; sleep 0.01; done; return 1; }
are_ready() {  # both workers run, and the connection that tried the port is closed
  mapfile -t workers < <(pgrep -P $server)
  ((${#workers[@]} == 2)) && [[ $(sockets "${workers[0]}") == $(sockets "${workers[1]}") ]]
}
has_connections() { (($(connections) == $1)); }
await are_ready
listening=0
listening=$(connections)
# The kernel gives each connection to one of the workers, by its port. If both go to one worker, the
# rate is half. Then wrk starts again.
for _ in $(seq 40); do
  wrk -t1 -c2 -d"$seconds" -H 'Accept-Encoding: gzip' http://127.0.0.1:8089/page.txt >"$folder/wrk.out" &
  client=$!
  await has_connections 2
  [[ $(sockets "${workers[0]}") == $(sockets "${workers[1]}") ]] && break
  kill $client
  wait $client || true
  await has_connections 0
done
wait $client
grep Requests/sec "$folder/wrk.out"
# utime and stime are the 14th and 15th fields, in ticks of 10 ms.
for worker in "${workers[@]}"; do cat "/proc/$worker/stat"; done |
  awk -v requests="$(awk '/requests in/ { print $1 }' "$folder/wrk.out")" \
    '{ ticks += $14 + $15 } END { printf "CPU-us/request: %.1f\n", ticks * 1e4 / requests }'
