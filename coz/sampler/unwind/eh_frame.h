// Finds the call frame information of an address in a loaded object's .eh_frame.
//
// Shape    views into the object's own memory: valid while it stays loaded
// Units    runtime addresses
// Errors   an enum
// Threads  safe
// Signals  async-signal-safe
// Source   LSB "Exception Frames", ".eh_frame_hdr section"; DWARF 5 section 6.4.1
#ifndef COZ_SAMPLER_UNWIND_EH_FRAME_H_
#define COZ_SAMPLER_UNWIND_EH_FRAME_H_

#include <cstdint>

namespace coz::sampler {

// The readable bytes around .eh_frame_hdr, which hold .eh_frame too: the load segment of both.
struct EhFrameSection {
  const uint8_t* begin = nullptr;
  const uint8_t* end = nullptr;
  const uint8_t* header = nullptr;  // .eh_frame_hdr
};

// What a frame description entry and its common information entry say about one function.
struct FrameDescription {
  uint64_t begin = 0;  // runtime addresses of the code
  uint64_t end = 0;
  const uint8_t* initial_instructions = nullptr;
  const uint8_t* initial_instructions_end = nullptr;
  const uint8_t* instructions = nullptr;
  const uint8_t* instructions_end = nullptr;
  uint64_t code_alignment = 1;
  int64_t data_alignment = 1;
  uint8_t pointer_encoding = 0;
  bool is_signal_frame = false;  // its caller was interrupted: the caller's address is exact
};

enum class FindResult : uint8_t { kFound, kNone, kMalformed };

// The description of the code at `address`; kNone where the object has none.
FindResult FindFrameDescription(const EhFrameSection& section, uint64_t address,
                                FrameDescription* description);

}  // namespace coz::sampler

#endif  // COZ_SAMPLER_UNWIND_EH_FRAME_H_
