// The function that a line's code belongs to, or the inlined copy of one.
//
// What is inlined into the line itself belongs to the line, though its first rows may carry the
// number of the line that calls it.
//
// Shape    one scope, with the calls that it was inlined by, up to a function with code of its own
// Units    addresses as in the debug information; lines from 1
// Errors   nothing where no function holds the address
// Threads  compatible
// Signals  not safe
// Source   DWARF 5, sections 3.3.8 and 3.4; gcc/dwarf2out.c (rows of inlined code)
#ifndef COZ_POINTS_LINE_SCOPE_H_
#define COZ_POINTS_LINE_SCOPE_H_

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "coz/points/function_extents.h"
#include "coz/points/line_begins.h"

namespace coz::points {

// A row of a line table at which a statement begins.
struct LineRow {
  Dwarf_Addr address;
  const char* file;
  uint32_t line;
  uint32_t column;
};

class LineScope {
 public:
  // Of the row's line at its address.
  static std::optional<LineScope> Around(Dwarf_Die* unit, const LineRow& row);

  // The same for all copies of one function in the code of another one. Compilers join their ends.
  std::pair<const void*, Dwarf_Off> id() const;
  // Takes in the row of another scope with this id.
  void Add(const LineScope& other);
  // Where another row stands, as seen from the line. Nothing: it belongs neither to the scope nor
  // to a function that the scope was inlined into.
  std::optional<StatementRow::Place> PlaceOf(const LineRow& row) const;
  // Of the function that has the scope's code.
  std::vector<FunctionExtent> Code() const;
  // Nothing: not known.
  std::optional<Dwarf_Addr> Entry() const;
  std::set<Dwarf_Addr> BehindLastCalls() const;
  // The compiler marks only the begins of statements (gcc).
  bool marks_statements() const { return marks_statements_; }

 private:
  // A function or a copy.
  struct Level {
    Dwarf_Die die;
    std::string file;
    uint32_t first_line;  // 0: not known
    uint32_t first_column;
    uint32_t line;  // that is sought, or that calls the level before
  };
  // A function within another one, as a lambda, where it was inlined.
  struct Nested {
    uint32_t first_line;
    std::vector<FunctionExtent> code;
  };

  static std::optional<LineScope> AroundAddress(Dwarf_Die* unit, const LineRow& row,
                                                Dwarf_Addr address);
  void FindAround();
  void FindNested();
  bool IsAround(const LineRow& row) const;
  bool IsMarkOfCopy(const LineRow& row) const;

  std::vector<Level> levels_;  // from the scope to the function with code of its own
  std::vector<Level> around_;  // all but the scope's function
  std::vector<FunctionExtent> code_;
  std::vector<Nested> nested_;
  std::set<Dwarf_Addr> entries_;    // of the copies
  bool is_written_within_ = false;  // a function that it was inlined into, as a lambda is
  bool holds_line_ = false;
  bool marks_statements_ = false;
};

}  // namespace coz::points

#endif  // COZ_POINTS_LINE_SCOPE_H_
