// Finds the marks of coz.h in a program's file, before it runs.
//
// Shape    each name and kind once, in the order of the file
// Units    none
// Errors   none: what is no readable ELF file has no marks; a name that cannot be read is empty
// Threads  safe
// Signals  not safe
// Source   coz/runtime/coz.h, coz_mark_t; elf(5)
#ifndef COZ_POINTS_MARKS_IN_FILE_H_
#define COZ_POINTS_MARKS_IN_FILE_H_

#include <string>
#include <vector>

namespace coz::points {

enum class MarkKind { kThroughput, kBegin, kEnd };

struct MarkInFile {
  std::string name;
  MarkKind kind = MarkKind::kThroughput;
};

struct MarksInFile {
  std::vector<MarkInFile> marks;
  // The program has macros of the original's coz.h, or of its Rust crate: how many and which is
  // known only when they are passed.
  bool has_marks_of_original = false;
};

MarksInFile FindMarksInFile(const std::string& path);

}  // namespace coz::points

#endif  // COZ_POINTS_MARKS_IN_FILE_H_
