#!/bin/bash
# The program takes samples, and each line of the example in sampler.h is one of its own.
set -euo pipefail
printed=$(coz/sampler/example/count_samples)
[[ $printed =~ ^[1-9][0-9]*\ periods$ ]] || { echo "no samples: $printed"; exit 1; }
lines=0
while read -r line; do
  grep -qF -- "$line" coz/sampler/example/count_samples.cc || { echo "not in the example: $line"; exit 1; }
  lines=$((lines + 1))
done < <(sed -n 's|^//   \(.*;\)$|\1|p' coz/sampler/sampler.h)
((lines == 3)) || { echo "sampler.h shows $lines lines of the example"; exit 1; }
