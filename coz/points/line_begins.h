// Finds where visits to a line begin in the code of one function.
//
// The rule: a visit begins where a thread comes to code of the line from a line above it in the
// same function, or from the function's begin. Lines below do not end a visit. So all rounds of a
// loop are one visit to the line that heads it, and each round is a visit to the lines within,
// whether the compiler has unrolled the loop or not. A call whose arguments stand on lines of their
// own is one visit.
//
// Shape    rows in the order of the line table, several at one address; ascending addresses come
//          back
// Units    addresses, all of one kind
// Errors   none: a thread goes nowhere from what is no known instruction
// Threads  safe: a pure function
// Signals  not safe
// Source   measured: rows of gcc 12 and clang 14, -O0 to -O3
#ifndef COZ_POINTS_LINE_BEGINS_H_
#define COZ_POINTS_LINE_BEGINS_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace coz::points {

// A statement of the function begins there.
struct StatementRow {
  enum Place { kAbove, kAtLine, kBelow };
  uint64_t address;
  Place place;      // its line, as seen from the line that is sought
  uint32_t column;  // 0: not known
};

struct CodePart {
  uint64_t address;
  const uint8_t* code;
  size_t bytes;
};

struct FunctionCode {
  std::vector<CodePart> parts;
  uint64_t entry;
  std::set<uint64_t> behind_last_calls;  // addresses behind calls that do not return
  // Every row is where a statement begins. Then a visit begins with the line's first statement, and
  // not where another return leads to the bracket at the line's end.
  bool marks_statements = false;
};

struct LineBegins {
  std::vector<uint64_t> addresses;
  // How many of these
  size_t in_a_row =
      0;             // follow another one without a jump between: an unrolled loop, or mixed code
  size_t again = 0;  // code within a visit leads to, too, and each time counts
  // Copies of the line's begin that threads come to only from lines below it, so that they do not
  // count: rounds of a loop that the line heads, or that ends below the line. The one copy with
  // which a loop comes back to the line that heads it is not among them.
  size_t left_out = 0;
};

// Where code without a loop joins such from above and such from within a visit, the visits count at
// the last instruction from above. Code that only an exception reaches counts only where the line
// has no other.
LineBegins FindLineBegins(const FunctionCode& code, const std::vector<StatementRow>& rows);

}  // namespace coz::points

#endif  // COZ_POINTS_LINE_BEGINS_H_
