// A file's text, or as much of it as can be read.
//
// Shape    all bytes from the start; empty where the file cannot be opened
// Units    bytes
// Errors   a failed read ends the text, as where the process of a file in /proc has ended
// Threads  safe
// Signals  not async-signal-safe
// Source   std::istreambuf_iterator throws what a failed read throws, which ends a program that
//          catches nothing; operator<< keeps it in the stream's state
#ifndef COZ_BASE_FILE_TEXT_H_
#define COZ_BASE_FILE_TEXT_H_

#include <fstream>
#include <sstream>
#include <string>

namespace coz {

inline std::string FileText(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace coz

#endif  // COZ_BASE_FILE_TEXT_H_
