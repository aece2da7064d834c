#!/bin/bash
# The README's example names the line of main() in a fixture.
set -euo pipefail
example=coz/sourcemap/example/example
program=coz/sourcemap/testdata/dwarf5/fixture
address=$(nm "$program" | awk '$3 == "main" { print $1 }')
line=$("$example" "$program" "$address")
source=${line%:*}
[[ $source == */coz/sourcemap/testdata/fixture.cc ]] || { echo "got '$line'"; exit 1; }
wanted=$(grep -n '^int main' coz/sourcemap/testdata/fixture.cc | cut -d: -f1)
[[ ${line##*:} == "$wanted" ]] || { echo "got '$line', expected line $wanted"; exit 1; }
