// Text for the profile's string fields, which have to be UTF-8: a profile with other bytes in one
// cannot be read. The program chooses names of points, libraries and functions.
//
// Shape    the text, with "?" for each byte that belongs to no character
// Units    bytes
// Errors   none
// Threads  safe
// Signals  not safe
// Source   https://protobuf.dev/programming-guides/proto3/#scalar
#ifndef COZ_SUPERVISOR_RUN_VALID_UTF8_H_
#define COZ_SUPERVISOR_RUN_VALID_UTF8_H_

#include <string>
#include <utility>

#include "utf8proc.h"

namespace coz::supervisor {

inline std::string ValidUtf8(std::string text) {
  for (size_t at = 0; at < text.size();) {
    utf8proc_int32_t character = 0;
    const utf8proc_ssize_t bytes =
        utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data() + at),
                         static_cast<utf8proc_ssize_t>(text.size() - at), &character);
    if (bytes <= 0) text[at] = '?';
    at += bytes <= 0 ? 1 : static_cast<size_t>(bytes);
  }
  return text;
}

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_RUN_VALID_UTF8_H_
