#!/bin/bash
# Fetches Debian's source of nginx, adds a progress point to each finished request, and builds it without modules that need libraries.
# Usage: bench/servers/nginx/build.sh FOLDER      makes FOLDER/nginx/objs/nginx
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:?usage: build.sh FOLDER}
mark_header=$(cd "$here/../../../coz/runtime" && pwd)
"$here/../debian_source.sh" "$folder" nginx
cd "$folder"
if [[ ! -e nginx/objs/nginx ]]; then
  cd nginx
  # Called once for each request that has been answered.
  source=src/http/ngx_http_request.c
  grep -q COZ_PROGRESS_NAMED $source || {
    sed -i '/^ngx_http_log_request(ngx_http_request_t \*r)$/,/^}/ s/^    cmcf = /    COZ_PROGRESS_NAMED("requests");\n\n&/' $source
    sed -i '1i #include "coz.h"' $source
  }
  grep -q COZ_PROGRESS_NAMED $source
  ./configure --prefix="$folder/run" --without-http_rewrite_module --without-pcre --with-cc-opt="-O2 -g -Wno-error -I$mark_header" >/dev/null
  make -j2 >make.log 2>&1 || { echo "nginx/build.sh: make failed; read $PWD/make.log" >&2; exit 1; }
  cd ..
fi
mkdir -p run/conf run/logs run/html
cp nginx/conf/mime.types run/conf/
# Text that compresses like text: a source of nginx.
head -c 40000 nginx/src/http/ngx_http_core_module.c >run/html/page.txt
echo "$folder/nginx/objs/nginx"
