#!/bin/bash
# Runs the query of docs/export.md in DuckDB on the experiments of a profile, and compares it with the same sums in
# Python. Installs DuckDB once, from npm: about 70 MB, to ~/.cache/coz/duckdb-VERSION.
#
#   COZ=coz bench/fleet/duckdb_query.sh PROFILE.pb POINT
set -euo pipefail
version=1.5.6-r.1
(($# == 2)) || { echo "write: bench/fleet/duckdb_query.sh PROFILE.pb POINT" >&2; exit 2; }
for program in npm node python3; do
  command -v "$program" >/dev/null || { echo "$program is missing; apt-get install $program" >&2; exit 1; }
done
page=$(dirname "$(realpath "$0")")/../../docs/export.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cache=${XDG_CACHE_HOME:-$HOME/.cache}/coz/duckdb-$version
if [[ ! -d $cache ]]; then
  npm install --silent --no-audit --no-fund --prefix "$work/npm" "@duckdb/node-api@$version" >/dev/null
  mkdir -p "$(dirname "$cache")"
  mv "$work/npm" "$cache"
fi
"${COZ:-coz}" export --format=jsonl -o "$work/fleet.jsonl" "$1"
sed -n '/^    SELECT host/,/;$/s/^    //p' "$page" >"$work/query.sql"
grep -q "'requests'" "$work/query.sql" || { echo "$page has no such query any more" >&2; exit 1; }
cat >"$work/query.js" <<'JAVASCRIPT'
const { DuckDBInstance } = require("@duckdb/node-api");
const { readFileSync, writeFileSync } = require("fs");
(async () => {
  const [point] = process.argv.slice(2);
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  const query = readFileSync("query.sql", "utf8").replace("'requests'", `'${point.replaceAll("'", "''")}'`);
  const rows = (await connection.runAndReadAll(query)).getRowObjectsJson();
  console.table(rows);
  writeFileSync("rows.json", JSON.stringify(rows));
})().catch((error) => { console.error("DuckDB: " + error.message); process.exit(1); });
JAVASCRIPT
cd "$work"
NODE_PATH=$cache/node_modules node query.js "$2"
python3 - "$2" <<'PYTHON'
import collections, json, math, sys
sums = collections.defaultdict(lambda: [0, 0, 0])
for row in map(json.loads, open("fleet.jsonl")):
    if row["valid"] and row["point"] == sys.argv[1]:
        # As round() of SQL: half away from zero.
        speedup = math.floor(row["virtual_speedup"] * 100 + 0.5) / 100
        one = sums[row["host"], row["function"], row["line"], speedup]
        one[:] = [one[0] + row["experiments"], one[1] + row["visits"], one[2] + row["effective_duration_ns"]]
rows = json.load(open("rows.json"))
said = {}
for row in rows:
    line = row["line"] and int(row["line"])
    said[row["host"], row["function"], line, row["speedup"]] = int(row["experiments"]), row["visits_per_second"]
assert len(said) == len(rows) == len(sums) > 0, (len(said), len(rows), len(sums))
for key, (experiments, visits, duration) in sums.items():
    assert said[key][0] == experiments and math.isclose(said[key][1], 1e9 * visits / duration), (key, said[key])
print(f"DuckDB and Python agree in all {len(rows)} rows")
PYTHON
