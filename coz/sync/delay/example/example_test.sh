#!/bin/bash
# The ledgers after each step are those that the rules give.
set -euo pipefail
diff <(coz/sync/delay/example/example) - <<'EOF'
worker is sampled             global  500  worker  500  waiter    0, owes 500
waiter pauses 20 us too long  global  500  worker  500  waiter  520, owes   0
worker is sampled meanwhile   global 1000  worker 1000  waiter  520, owes 480
worker wakes waiter           global 1000  worker 1000  waiter 1000, owes   0
waiter: paused 520, credited 480
EOF
