#include "coz/report/exchange/valid_text.h"

#include <cstddef>

#include "utf8proc.h"

namespace coz::report {

std::string ValidText(const std::string& text) {
  std::string valid;
  for (size_t at = 0; at < text.size();) {
    utf8proc_int32_t character = 0;
    const utf8proc_ssize_t bytes =
        utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data() + at),
                         static_cast<utf8proc_ssize_t>(text.size() - at), &character);
    if (bytes > 0) {
      valid.append(text, at, static_cast<size_t>(bytes));
      at += static_cast<size_t>(bytes);
    } else {
      valid += "\xEF\xBF\xBD";
      ++at;
    }
  }
  return valid;
}

}  // namespace coz::report
