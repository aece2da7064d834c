#!/bin/bash
# The predictions printed are those of the program that the profile is made of.
set -euo pipefail
coz/report/example/make_profile "$TEST_TMPDIR/profile.pb"
diff <(coz/report/example/example "$TEST_TMPDIR/profile.pb") - <<'EOF'
requests
  /src/app/parse.cc:41
    line  20 % faster: program +10 %
    line  40 % faster: program +20 %
    line  60 % faster: program +30 %
    line  80 % faster: program +40 %
    line 100 % faster: program +50 %
  /src/app/sort.cc:7
    line  20 % faster: program  +4 %
    line  40 % faster: program  +8 %
    line  60 % faster: program +12 %
    line  80 % faster: program +16 %
    line 100 % faster: program +20 %
  /src/app/rare.cc:9: no prediction
EOF
