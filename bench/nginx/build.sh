#!/bin/bash
# Fetches Debian's source of nginx and adds a progress point that each finished request visits.
# Builds it without the modules that need libraries.
# Usage: bench/nginx/build.sh FOLDER      makes FOLDER/nginx/objs/nginx
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:?usage: build.sh FOLDER}
command -v wrk >/dev/null || { echo "build.sh: wrk, the load generator, is missing; run: apt-get install wrk" >&2; exit 1; }
mkdir -p "$folder/apt/lists/partial"
cd "$folder"
if ! compgen -G 'nginx_*.orig.tar.gz' >/dev/null; then
  # The machine's own package sources, with source packages switched on for this call only.
  sed 's/^Types: deb$/Types: deb-src/' /etc/apt/sources.list.d/debian.sources >apt/source.sources
  options=(-o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$PWD/apt" -o "Dir::State::Lists=$PWD/apt/lists")
  apt-get "${options[@]}" update >/dev/null
  # Only this file of the source package is needed, so a mirror that has dropped the others will do.
  apt-get "${options[@]}" source --download-only nginx >apt/source.log 2>&1 || compgen -G 'nginx_*.orig.tar.gz' >/dev/null || {
    echo "build.sh: apt-get source nginx brought no nginx_*.orig.tar.gz; see $PWD/apt/source.log, then run: apt-get update" >&2
    exit 1
  }
fi
if [[ ! -e nginx/objs/nginx ]]; then
  rm -rf nginx && mkdir nginx
  tar xzf nginx_*.orig.tar.gz --strip-components=1 -C nginx
  cd nginx
  # This function is called once for each request that has been answered.
  sed -i '/^ngx_http_log_request(ngx_http_request_t \*r)$/,/^}/ s/^    cmcf = /    COZ_PROGRESS_NAMED("requests");\n\n&/' src/http/ngx_http_request.c
  sed -i '1i #include "coz.h"' src/http/ngx_http_request.c
  grep -q COZ_PROGRESS_NAMED src/http/ngx_http_request.c
  ./configure --prefix="$folder/run" --without-http_rewrite_module --without-pcre \
    --with-cc-opt="-O2 -g -Wno-error -I$here/../../coz/runtime" >/dev/null
  make -j2 >/dev/null 2>&1
  cd ..
fi
mkdir -p run/conf run/logs run/html
cp nginx/conf/mime.types run/conf/
# A source file of nginx, which compresses like text.
head -c 40000 nginx/src/http/ngx_http_core_module.c >run/html/page.txt
echo "$folder/nginx/objs/nginx"
