// Part of the fixture program: see fixture.cc.
#ifndef COZ_SOURCEMAP_TESTDATA_FIXTURE_H_
#define COZ_SOURCEMAP_TESTDATA_FIXTURE_H_

#include <string>
#include <vector>

namespace fixture {

struct Record {
  int key;
  std::string text;
};

inline int Mix(int value) {
  value ^= value >> 3;       // MARK:mix-first
  return value * 0x9e3779b;  // MARK:mix-last
}

template <typename T>
T Twice(T value) {
  return value + value;  // MARK:twice
}

void SortNumbers(std::vector<int>& numbers);
int SumRecords(const std::vector<Record>& records);

}  // namespace fixture

#endif  // COZ_SOURCEMAP_TESTDATA_FIXTURE_H_
