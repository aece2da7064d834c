#!/bin/bash
# What is installed works from any prefix, finds its own library, and the packages hold the same files.
set -euo pipefail
install=$PWD/tools/package/install
busy=$PWD/coz/testing/puppets/busy
deb=$PWD/tools/package/coz_0.1.0_amd64.deb
tarball=$PWD/tools/package/coz-0.1.0-linux-x86_64.tar.gz
cd "$TEST_TMPDIR"

fail() {
  echo "FAILED: $1" >&2
  exit 1
}

"$install" --prefix=first >out
[[ $(cat out) == *"$PWD/first/bin/coz" ]] || fail "says where it is: $(cat out)"
"$install" --prefix=first >/dev/null || fail "installs over itself"
mv first moved
expected="bin/coz include/coz.h lib/cmake/coz-profiler/coz-profiler-config.cmake lib/cmake/coz/coz-config-version.cmake lib/cmake/coz/coz-config.cmake lib/coz/examples/known_answers lib/coz/examples/pipeline \
lib/coz/libZydis.so.4.0 lib/coz/libcoz.so lib/pkgconfig/coz.pc share/bash-completion/completions/coz share/coz/profile.proto share/doc/coz/copyright \
share/doc/coz/copyright.zydis share/fish/vendor_completions.d/coz.fish share/man/man1/coz.1 share/zsh/site-functions/_coz"
files=$(cd moved && find . -type f -printf '%P\n' | grep -v '^share/doc/coz/\(README.md\|CONTRIBUTING.md\|docs/\)' | sort | xargs)
[[ $files == "$expected" ]] || fail "files are: $files"
# Pages are read beside the program, so what they show and lead to is there.
cd moved/share/doc/coz
grep -rnoP '\]\((?!https?:|#)\K[^)#]+' --include=*.md . | while IFS=: read -r page _ target; do
  case $target in *.md | *.png) [[ -e $(dirname "$page")/$target ]] || fail "$page leads to $target" ;; esac
done || exit 1
cd "$TEST_TMPDIR"
grep -q '^Version: 0.1.0$' moved/lib/pkgconfig/coz.pc || fail "version in coz.pc"
grep -q '@VERSION@' -r moved/lib/pkgconfig moved/lib/cmake && fail "a version was not filled in"
[[ $(moved/bin/coz --version) == 0.1.0 ]] || fail "version of the command"

# Ubuntu 22.04 has glibc 2.35, and no system but Debian 12 and Ubuntu 24.04 this version of Zydis.
[[ $(ldd moved/bin/coz) == *"libZydis.so.4.0 => $PWD/moved/"* ]] || fail "the command takes another Zydis: $(ldd moved/bin/coz)"
for file in moved/bin/coz moved/lib/coz/libcoz.so; do
  newest=$(objdump -T $file | grep -oP '\(GLIBC_\K[0-9.]+' | sort -V | tail -1)
  [[ $(printf '%s\n2.35\n' "$newest" | sort -V | tail -1) == 2.35 ]] || fail "$file needs glibc $newest"
done

moved/bin/coz run -o p.pb --experiment-length=0.1 --- "$busy" 1 >/dev/null 2>run.log || fail "runs: $(cat run.log)"
moved/bin/coz plot p.pb -o p.html 2>/dev/null || fail "plots"
[[ -s p.html ]] || fail "a report"
grep -q 'experiment' <(moved/bin/coz report p.pb) || fail "reports"
# As docs/export.md has it.
protoc --decode=coz.profile.Profile -I moved/share/coz profile.proto <p.pb >p.txt || fail "profile.proto reads no profile"
grep -q '^experiment {' p.txt || fail "profile.proto reads no experiment"

moved/bin/coz demo --seconds=2 -o d.pb >/dev/null 2>demo.log || fail "demonstrates itself: $(cat demo.log)"
[[ -s d.pb ]] || fail "a profile of the demo"

cat >use.c <<'C'
#include "coz.h"
int main(void) { COZ_PROGRESS; return 0; }
C
cc -Imoved/include use.c -o use -ldl && ./use || fail "coz.h compiles in C"

# The files for CMake and pkg-config, where these are.
if command -v pkg-config >/dev/null; then
  # shellcheck disable=SC2046
  cc use.c -o use $(PKG_CONFIG_PATH=moved/lib/pkgconfig pkg-config --cflags --libs 'coz = 0.1.0') && ./use || fail "coz.pc"
else
  echo "not tested: coz.pc; there is no pkg-config"
fi
if command -v cmake >/dev/null; then
  mkdir project
  cp use.c project
  cat >project/CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.13)
project(use C)
find_package(coz 0.1 REQUIRED)
add_executable(use use.c)
target_link_libraries(use coz::coz)
CMAKE
  { cmake -S project -B project/build -DCMAKE_PREFIX_PATH="$PWD/moved" && cmake --build project/build; } >cmake.log 2>&1 && project/build/use ||
    fail "find_package(coz): $(cat cmake.log)"
  # The original's names.
  mkdir moving
  cp use.c moving
  cat >moving/CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.13)
project(use C)
find_package(coz-profiler REQUIRED)
add_executable(use use.c)
target_link_libraries(use coz::coz)
add_custom_command(TARGET use POST_BUILD COMMAND coz::profiler --version VERBATIM)
CMAKE
  { cmake -S moving -B moving/build -DCMAKE_PREFIX_PATH="$PWD/moved" && cmake --build moving/build; } >cmake.log 2>&1 && grep -qx '0.1.0' cmake.log ||
    fail "find_package(coz-profiler): $(cat cmake.log)"
else
  echo "not tested: find_package(coz); there is no cmake"
fi

mkdir from_deb from_tar
dpkg-deb -x "$deb" from_deb
tar -xzf "$tarball" -C from_tar
mv from_deb/usr/share/zsh/vendor-completions from_deb/usr/share/zsh/site-functions || fail "zsh's completion in the .deb"
diff -r moved from_deb/usr >/dev/null || fail "the .deb holds other files"
diff -r moved from_tar/coz-0.1.0-linux-x86_64 >/dev/null || fail "the tarball holds other files"
[[ $(dpkg-deb -f "$deb" Version) == 0.1.0 ]] || fail "version of the .deb"
for field in Conflicts Replaces; do
  [[ $(dpkg-deb -f "$deb" $field) == coz-profiler ]] || fail "$field of the .deb: the original would keep its /usr/bin/coz"
done
owners=$(dpkg-deb -c "$deb" | awk '{print $2}' | sort -u)
[[ $owners == root/root ]] || fail "owners in the .deb: $owners"

for bad in "" "--prefix=" "--folder=x" "--prefix=/proc/no"; do
  # shellcheck disable=SC2086
  if "$install" $bad >/dev/null 2>err; then fail "takes '$bad'"; fi
  [[ $(wc -l <err) == 1 ]] || fail "one sentence for '$bad': $(cat err)"
done
echo PASSED
