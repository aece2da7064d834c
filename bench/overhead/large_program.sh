#!/bin/bash
# Builds FOLDER/large, a program with about MEGABYTES of .debug_info for its own sources.
# Usage: large_program.sh FOLDER [MEGABYTES]
#
# One source file of templates is compiled once. Its assembly is then assembled many times under
# other file names. All that it defines is local, so the linker drops no copy. Each copy has its own
# code, lines and inlined calls.
set -euo pipefail
folder=$1
megabytes=${2:-100}
mkdir -p "$folder"
cd "$folder"

cat >part.cc <<'END'
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>
namespace {
template <int N> struct Key {
  int value;
  std::string text;
  bool operator<(const Key& other) const { return value < other.value; }
};
template <int N> int Use(int x) {
  std::map<Key<N>, std::vector<Key<N>>> map;
  map[Key<N>{x, "a"}].push_back(Key<N>{x, "b"});
  std::vector<Key<N>> values(static_cast<size_t>(x));
  std::sort(values.begin(), values.end());
  return map.begin()->second[0].value + values[0].value;
}
template <int... N> int UseAll(int x, std::integer_sequence<int, N...>) { return (Use<N>(x) + ...); }
}  // namespace
extern "C" int Part(int x) { return UseAll(x, std::make_integer_sequence<int, 25>()); }
END
# The original in Debian aborts on DWARF 5.
g++ -std=c++17 -O1 -gdwarf-4 -gno-variable-location-views -S part.cc -o part.s

copy() {
  sed -e "s/\"part\.cc\"/\"part_$1.cc\"/g" -e "s/part\.cc/part_$1.cc/g" -e "s/\bPart\b/Part_$1/g" part.s | as -o "part_$1.o"
}
debug_info_bytes() { size -A -d "$1" | awk '/^\.debug_info/ { sum += $2 } END { print sum }'; }
copy 1
copies=$(((megabytes * 1000000 + $(debug_info_bytes part_1.o) - 1) / $(debug_info_bytes part_1.o)))
for ((i = 2; i <= copies; ++i)); do copy "$i"; done

{
  echo '#include <stdio.h>'
  echo '#include <time.h>'
  for ((i = 1; i <= copies; ++i)); do echo "extern \"C\" int Part_$i(int);"; done
  echo 'int main(int argc, char**) {'
  echo '  timespec now;'
  echo '  clock_gettime(CLOCK_MONOTONIC, &now);'
  echo '  printf("load: main_ns=%lld\n", now.tv_sec * 1000000000LL + now.tv_nsec);'
  echo '  if (argc < 2) return 0;'
  echo '  int sum = 0;'
  for ((i = 1; i <= copies; ++i)); do echo "  sum += Part_$i(argc);"; done
  echo '  return sum == 42;'
  echo '}'
} >main.cc
g++ -gdwarf-4 -gno-variable-location-views main.cc part_*.o -o large
rm -f part_*.o part.s
echo "$(($(debug_info_bytes large) / 1000000)) MB of .debug_info"
