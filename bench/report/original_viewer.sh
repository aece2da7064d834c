#!/bin/bash
# Draws a profile that was exported with --format=coz or coz-text in the viewer of Debian's
# coz-profiler, which it downloads, in a headless Chromium. Prints how many plots and lines it has drawn.
#
#   bench/report/original_viewer.sh PROFILE.coz PICTURE.png
set -euo pipefail
profile=$1
picture=$(realpath -m "$2")
command -v chromium >/dev/null || { echo "chromium is missing; apt-get install chromium" >&2; exit 1; }

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Beside, for the package would put another coz on the path.
"$root/third_party/debian/unpack.sh" coz-profiler "$folder/package" >/dev/null
cp -r "$folder/package/usr/share/coz-profiler/viewer/." "$folder"
python3 - "$profile" "$folder/index.htm" <<'PYTHON'
import json, sys
text = open(sys.argv[1]).read()
page = open(sys.argv[2]).read()
# What the page does when a file is opened.
script = """<script>
current_profile = new Profile(%s, d3.select('#plot-area'), d3.select('#legend'), get_min_points, display_warning);
d3.select('#minpoints_field').node().value = 5;
update();
</script></body>""" % json.dumps(text).replace("</", "<\\/")
open(sys.argv[2], "w").write(page.replace("</body>", script))
PYTHON

run() {
  chromium --headless=new --no-sandbox --disable-gpu --user-data-dir="$folder/user" --window-size=1400,1000 \
    --virtual-time-budget=5000 "$@" "file://$folder/index.htm" 2>"$folder/log" || { cat "$folder/log" >&2; exit 1; }
}
run --screenshot="$picture" >/dev/null
run --dump-dom >"$folder/dom"
plots=$(grep -o '<svg' "$folder/dom" | wc -l)
warnings=$(grep -c 'alert-warning' "$folder/dom" || true)
echo "$plots plots, $warnings warnings; see $picture"
