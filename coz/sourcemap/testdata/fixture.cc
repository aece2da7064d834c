// A program that is compiled in many ways to test the DWARF reader: library code inlined into one line,
// inlined functions of its own, a lambda, a template with two instances, a cold part.
#include "coz/sourcemap/testdata/fixture.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>

namespace {

__attribute__((noinline)) int CheckedDivide(int a, int b) {
  if (b == 0) throw std::invalid_argument("division by zero");  // MARK:cold
  return a / b;
}

__attribute__((noinline)) int MixAll(const std::vector<int>& numbers) {
  int sum = 0;
  for (int number : numbers) {
    sum += fixture::Mix(number);  // MARK:mix-call
  }
  return sum;
}

}  // namespace

// Nothing calls it: with --gc-sections its code is dropped, and its debug information stays.
int DroppedFunction(const char* text) {
  std::map<std::string, int> counts;
  for (; *text != 0; ++text) ++counts[std::string(1, *text)];
  return static_cast<int>(counts.size());
}

int main(int argc, char** argv) {
  std::vector<int> numbers;
  for (int i = 0; i < 1000; ++i) numbers.push_back(i * 7919 % 1000);
  fixture::SortNumbers(numbers);
  std::vector<fixture::Record> records;
  for (int number : numbers) records.push_back({number, std::to_string(number)});
  const double half = fixture::Twice(0.25);
  try {
    std::printf("%d %d %d %f\n", MixAll(numbers), fixture::SumRecords(records),
                CheckedDivide(argc, argc > 1 ? std::atoi(argv[1]) : 1), half);
  } catch (const std::invalid_argument& error) {
    std::puts(error.what());
    return 1;
  }
  return 0;
}
