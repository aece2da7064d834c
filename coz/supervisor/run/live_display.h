// The block of lines that `coz run` keeps fresh on a terminal: time, experiments, the leaders so
// far.
//
// Shape    the last lines of the terminal on standard error, kept out of the region that scrolls,
//          so that what the program prints is never drawn over; nothing at all where that is not a
//          terminal, or one without escape sequences
// Units    ns
// Errors   none
// Threads  compatible
// Signals  none
// Source   ECMA-48; VT100 DECSTBM (scrolling region), DECSC and DECRC (save and restore cursor)
#ifndef COZ_TOOLS_SUPERVISOR_LIVE_DISPLAY_H_
#define COZ_TOOLS_SUPERVISOR_LIVE_DISPLAY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "coz/report/format/profile.pb.h"

namespace coz::supervisor {

class LiveDisplay {
 public:
  struct State {
    uint64_t elapsed_ns = 0;
    uint64_t duration_ns = 0;  // planned; 0: until the program ends
    uint64_t experiments = 0;
    bool waiting_for_progress = false;
    std::string run;      // which of a series; empty of one alone
    std::string goal;     // of --until: how far it is; empty without
    std::string current;  // what is being tried; empty between experiments
  };

  // Draws on `fd` if it is a terminal that can be drawn on. `is_large`: all lines of the ranked
  // table, in two thirds of it at most.
  explicit LiveDisplay(int fd, bool is_large = false);

  bool is_on() const { return is_on_; }
  // Draws if the last time is long enough ago.
  void Refresh(const State& state, const profile::Profile& profile);
  // Takes the block off the terminal. The next Refresh puts it back.
  void Clear();

  ~LiveDisplay() { Clear(); }
  LiveDisplay(const LiveDisplay&) = delete;
  LiveDisplay& operator=(const LiveDisplay&) = delete;

 private:
  // How many lines the block may have; 0: the terminal is too small.
  int MostLines() const;
  // Takes so many lines out of the scrolling region, if they are more than before or the terminal
  // has changed its size.
  void Reserve(int lines);
  void UpdateLeaders(const profile::Profile& profile);
  void Draw(const std::vector<std::string>& lines);
  void Write(const std::string& text);

  int fd_;
  bool is_on_;
  const bool is_large_;
  uint64_t last_drawn_ns_ = 0;
  uint64_t next_analysis_ns_ = 0;
  uint64_t leaders_experiments_ = ~uint64_t{0};
  std::vector<std::string> leaders_;
  int terminal_rows_ = 0;
  int columns_ = 0;
  int rows_ = 0;  // of the terminal while the block is there; 0: it is not
  int block_lines_ = 0;
};

}  // namespace coz::supervisor

#endif  // COZ_TOOLS_SUPERVISOR_LIVE_DISPLAY_H_
