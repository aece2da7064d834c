// The second unit of the fixture program: see fixture.cc.
#include <algorithm>
#include <numeric>

#include "coz/sourcemap/testdata/fixture.h"

namespace fixture {

// At -O2 nearly all of this function's code is the C++ library's.
__attribute__((noinline)) void SortNumbers(std::vector<int>& numbers) {
  std::sort(numbers.begin(), numbers.end());  // MARK:sort
}

int SumRecords(const std::vector<Record>& records) {
  return std::accumulate(records.begin(), records.end(), 0, [](int sum, const Record& record) {
    return sum + Twice(record.key) + static_cast<int>(record.text.size());  // MARK:lambda
  });
}

}  // namespace fixture
