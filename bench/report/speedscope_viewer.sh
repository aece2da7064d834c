#!/bin/bash
# Draws a profile that was exported with --format=speedscope or pprof in speedscope, in a headless
# Chromium. Prints what speedscope has read in it. Fetches the viewer once, as it is built for npm:
# about 0.6 MB, to ~/.cache/coz/speedscope-VERSION.
#
#   bench/report/speedscope_viewer.sh PROFILE PICTURE.png
set -euo pipefail
version=1.25.0
(($# == 2)) || { echo "write: bench/report/speedscope_viewer.sh PROFILE PICTURE.png" >&2; exit 1; }
profile=$(realpath "$1")
picture=$(realpath -m "$2")
for program in chromium npm node; do
  command -v "$program" >/dev/null || { echo "$program is missing; apt-get install $program" >&2; exit 1; }
done
cache=${XDG_CACHE_HOME:-$HOME/.cache}/coz/speedscope-$version
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [[ ! -d $cache ]]; then
  (cd "$work" && npm pack --silent "speedscope@$version" >/dev/null && tar -xzf "speedscope-$version.tgz")
  mkdir -p "$(dirname "$cache")"
  mv "$work/package" "$cache"
fi
viewer=$work/viewer
cp -r "$cache/dist/release" "$viewer"
# As with speedscope's command line tool, the page loads the profile as a script. Its complaints go
# into the page, where this script reads them.
printf 'speedscope.loadFileFromBase64("%s", "%s")' "$(basename "$profile")" "$(base64 -w0 "$profile")" >"$work/profile.js"
python3 - "$viewer/index.html" <<'PYTHON'
import sys
page = open(sys.argv[1]).read()
script = """<script>
for (const level of ["warn", "error"]) console[level] = (...words) => document.documentElement.setAttribute("data-complaint", words.join(" "));
window.alert = (text) => console.error(text);
addEventListener("error", (event) => console.error(event.message));
addEventListener("unhandledrejection", (event) => console.error(event.reason));
</script>"""
open(sys.argv[1], "w").write(page.replace("<head>", "<head>" + script, 1))
PYTHON

run() {
  chromium --headless=new --no-sandbox --disable-dev-shm-usage --use-angle=swiftshader --enable-unsafe-swiftshader \
    --user-data-dir="$work/user" --window-size=1400,800 --virtual-time-budget=8000 "$@" \
    "file://$viewer/index.html#localProfilePath=$work/profile.js" 2>"$work/log" || { cat "$work/log" >&2; exit 1; }
}
run --screenshot="$picture" >/dev/null
run --dump-dom >"$work/dom"
if complaint=$(grep -o 'data-complaint="[^"]*"' "$work/dom"); then
  echo "speedscope complains: $complaint" >&2
  exit 1
fi
python3 - "$work/dom" <<'PYTHON'
import re, sys
text = re.sub(r"(?s)<(script|style).*?</\1>", "", open(sys.argv[1]).read())
title = re.search(r"<title>(.*?)</title>", text).group(1)
words = [word for word in re.sub(r"<[^>]*>", "\n", text).split("\n") if word.strip()]
if "Time Order" not in words or " - speedscope" not in title:
    sys.exit("speedscope shows no profile: " + " ".join(words))
print("speedscope shows", title.rsplit(" - ", 1)[0])
PYTHON
echo "see $picture"
