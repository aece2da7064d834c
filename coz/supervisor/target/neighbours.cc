#include "coz/supervisor/target/neighbours.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "coz/base/clock.h"

namespace coz::supervisor {
namespace {

// A look takes about 10 us for each process of the machine.
constexpr uint64_t kLookNs = 2 * kNsPerSecond;
// Until the second look, the first that tells anything.
constexpr uint64_t kFirstLookNs = 300 * kNsPerMs;
// Of a process; and processes whose descriptors are looked at. Bounds the time of a look.
constexpr size_t kMostDescriptors = 4096;
constexpr size_t kMostProcesses = 64;
constexpr size_t kMostBytes = 4 << 20;
// Of the time between two looks. What gains less need not be judged.
constexpr double kLeastGain = 0.05;
// Waits for each second of CPU time. A load generator waits thousands of times, a compiler a few.
constexpr uint64_t kFewWaits = 50;
constexpr size_t kMostThreads = 32;
// Of a process that starts. One that asks a server waits more often, however short it lives.
constexpr uint64_t kWaitsAtStart = 3;

std::string ReadStart(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  char part[4096];
  while (text.size() < kMostBytes && (file.read(part, sizeof(part)) || file.gcount() > 0)) {
    text.append(part, static_cast<size_t>(file.gcount()));
  }
  return text;
}

std::vector<std::string> NamesIn(const std::string& folder, size_t most) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(folder.c_str()), closedir);
  while (open != nullptr && names.size() < most) {
    const dirent* entry = readdir(open.get());
    if (entry == nullptr) break;
    names.emplace_back(entry->d_name);
  }
  return names;
}

uint64_t TickNs() { return kNsPerSecond / static_cast<uint64_t>(sysconf(_SC_CLK_TCK)); }

// An IPv4 address of a socket for IPv6 is written with a prefix.
absl::string_view WithoutMapping(absl::string_view address) {
  absl::ConsumePrefix(&address, "0000000000000000FFFF0000");
  return address;
}

}  // namespace

std::optional<ProcessTimes> ParseProcessStat(absl::string_view stat) {
  // The name in parentheses may contain anything, even parentheses.
  const size_t open = stat.find('(');
  const size_t close = stat.rfind(')');
  if (open == absl::string_view::npos || close == absl::string_view::npos || close < open) {
    return std::nullopt;
  }
  const std::vector<absl::string_view> words =
      absl::StrSplit(stat.substr(close + 1), ' ', absl::SkipEmpty());
  // The first word is the third field.
  constexpr size_t kUser = 14 - 3;
  constexpr size_t kSystem = 15 - 3;
  constexpr size_t kChildUser = 16 - 3;
  constexpr size_t kChildSystem = 17 - 3;
  constexpr size_t kStart = 22 - 3;
  constexpr size_t kCpu = 39 - 3;
  ProcessTimes times;
  uint64_t user = 0;
  uint64_t system = 0;
  uint64_t child_user = 0;
  uint64_t child_system = 0;
  if (words.size() <= kCpu || !absl::SimpleAtoi(words[kCpu], &times.cpu) ||
      !absl::SimpleAtoi(words[kUser], &user) || !absl::SimpleAtoi(words[kSystem], &system) ||
      !absl::SimpleAtoi(words[kChildUser], &child_user) ||
      !absl::SimpleAtoi(words[kChildSystem], &child_system) ||
      !absl::SimpleAtoi(words[kStart], &times.start_tick)) {
    return std::nullopt;
  }
  times.name = std::string(stat.substr(open + 1, close - open - 1));
  times.ticks = user + system;
  times.child_ticks = child_user + child_system;
  return times;
}

std::optional<uint64_t> ParseWaits(absl::string_view status) {
  constexpr absl::string_view kName = "\nvoluntary_ctxt_switches:";
  const size_t name = status.find(kName);
  if (name == absl::string_view::npos) return std::nullopt;
  const absl::string_view behind = status.substr(name + kName.size());
  uint64_t waits = 0;
  // SimpleAtoi passes over blanks.
  if (!absl::SimpleAtoi(behind.substr(0, behind.find('\n')), &waits)) return std::nullopt;
  return waits;
}

bool AreConnected(absl::string_view tcp, const std::set<uint64_t>& sockets,
                  const std::set<uint64_t>& others) {
  constexpr size_t kLocal = 1;
  constexpr size_t kRemote = 2;
  constexpr size_t kInode = 9;
  std::set<std::pair<absl::string_view, absl::string_view>> from;
  std::set<std::pair<absl::string_view, absl::string_view>> to;
  for (absl::string_view line : absl::StrSplit(tcp, '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    uint64_t inode = 0;
    if (words.size() <= kInode || !absl::SimpleAtoi(words[kInode], &inode)) continue;
    const absl::string_view local = WithoutMapping(words[kLocal]);
    const absl::string_view remote = WithoutMapping(words[kRemote]);
    if (sockets.count(inode) != 0) from.insert({local, remote});
    if (others.count(inode) != 0) to.insert({remote, local});
  }
  return std::any_of(from.begin(), from.end(),
                     [&to](const auto& connection) { return to.count(connection) != 0; });
}

std::set<uint64_t> NeighbourWatch::SocketsOf(pid_t pid) const {
  std::set<uint64_t> inodes;
  const std::string folder = absl::StrCat(proc_, "/", pid, "/fd");
  for (const std::string& name : NamesIn(folder, kMostDescriptors)) {
    char target[64];
    const ssize_t length = readlink(absl::StrCat(folder, "/", name).c_str(), target, sizeof target);
    if (length <= 0) continue;
    absl::string_view text(target, static_cast<size_t>(length));
    uint64_t inode = 0;
    if (absl::ConsumePrefix(&text, "socket:[") && absl::ConsumeSuffix(&text, "]") &&
        absl::SimpleAtoi(text, &inode)) {
      inodes.insert(inode);
    }
  }
  return inodes;
}

std::optional<uint64_t> NeighbourWatch::WaitsOf(pid_t pid) const {
  const std::string folder = absl::StrCat(proc_, "/", pid, "/task");
  uint64_t waits = 0;
  size_t threads = 0;
  // One more than may be, "." and "..".
  for (const std::string& name : NamesIn(folder, kMostThreads + 3)) {
    const std::optional<uint64_t> of_one =
        ParseWaits(ReadStart(absl::StrCat(folder, "/", name, "/status")));
    if (!of_one.has_value()) continue;
    waits += *of_one;
    ++threads;
  }
  if (threads == 0 || threads > kMostThreads) return std::nullopt;
  return waits;
}

bool NeighbourWatch::IsTireless(pid_t pid, uint64_t ticks) const {
  const std::optional<uint64_t> waits = WaitsOf(pid);
  const uint64_t whole_seconds = ticks * TickNs() / kNsPerSecond + 1;
  return waits.has_value() && *waits <= kFewWaits * whole_seconds;
}

bool NeighbourWatch::IsTirelessYoung(pid_t pid, uint64_t ticks) const {
  const std::optional<uint64_t> waits = WaitsOf(pid);
  return waits.has_value() && *waits <= kWaitsAtStart + kFewWaits * ticks * TickNs() / kNsPerSecond;
}

uint64_t NeighbourWatch::TirelessTicksOfEnded(uint64_t all_ticks, uint64_t gained_ticks) {
  const uint64_t before = std::exchange(all_ticks_, all_ticks);
  if (looks_ == 0 || young_ticks_ == 0 || all_ticks < before + gained_ticks) return 0;
  const double share =
      static_cast<double>(tireless_young_ticks_) / static_cast<double>(young_ticks_);
  return static_cast<uint64_t>(share * static_cast<double>(all_ticks - before - gained_ticks));
}

bool NeighbourWatch::Talks(pid_t pid, const std::set<pid_t>& own) const {
  const std::set<uint64_t> sockets = SocketsOf(pid);
  if (sockets.empty()) return false;
  std::set<uint64_t> others;
  size_t processes = 0;
  for (const pid_t one : own) {
    if (++processes > kMostProcesses) break;
    others.merge(SocketsOf(one));
  }
  const std::string net = absl::StrCat(proc_, "/", pid, "/net/");
  return AreConnected(absl::StrCat(ReadStart(net + "tcp"), "\n", ReadStart(net + "tcp6")), sockets,
                      others);
}

pid_t NeighbourWatch::Count(const std::vector<pid_t>& pids, const std::set<pid_t>& own,
                            uint64_t elapsed_ns) {
  const double least_gain =
      kLeastGain * static_cast<double>(elapsed_ns) / static_cast<double>(TickNs());
  absl::flat_hash_map<pid_t, Seen> now;
  pid_t busiest = 0;
  uint64_t most = 0;
  uint64_t all_ticks = 0;
  uint64_t gained_ticks = 0;
  for (const pid_t pid : pids) {
    if (own.count(pid) != 0) continue;
    const std::optional<ProcessTimes> times =
        ParseProcessStat(ReadStart(absl::StrCat(proc_, "/", pid, "/stat")));
    if (!times.has_value()) continue;
    now[pid] = {times->start_tick, times->ticks};
    all_ticks += times->ticks + times->child_ticks;
    if (looks_ == 0) continue;
    // One that was not there at the last look counts from its start.
    const auto found = seen_.find(pid);
    const bool is_known = found != seen_.end() && found->second.start_tick == times->start_tick;
    const uint64_t before = is_known ? found->second.ticks : 0;
    const uint64_t gained = times->ticks - std::min(times->ticks, before);
    gained_ticks += gained;
    if (!is_known) young_ticks_ += gained;
    if (gained == 0 || times->cpu >= cpus_.size() || !cpus_[times->cpu]) continue;
    ticks_by_name_[times->name] += gained;
    const bool is_tireless =
        is_known ? static_cast<double>(gained) >= least_gain && IsTireless(pid, times->ticks)
                 : IsTirelessYoung(pid, times->ticks);
    if (is_tireless) tireless_ticks_ += gained;
    if (is_tireless && !is_known) tireless_young_ticks_ += gained;
    if (gained > most && judged_.count(pid) == 0) std::tie(most, busiest) = std::pair(gained, pid);
  }
  seen_ = std::move(now);
  tireless_ticks_ += TirelessTicksOfEnded(all_ticks, gained_ticks);
  return busiest;
}

bool NeighbourWatch::IsDue(uint64_t now_ns) const {
  return looks_ == 0 || now_ns >= read_ns_ + (looks_ == 1 ? kFirstLookNs : kLookNs);
}

void NeighbourWatch::Look(uint64_t now_ns, const std::set<pid_t>& own) {
  const uint64_t elapsed_ns = now_ns - std::exchange(read_ns_, now_ns);
  tireless_ticks_ = 0;
  std::vector<pid_t> pids;
  for (const std::string& name : NamesIn(proc_, ~size_t{0})) {
    pid_t pid = 0;
    if (absl::SimpleAtoi(name, &pid) && pid != getpid()) pids.push_back(pid);
  }
  const pid_t busiest = Count(pids, own, elapsed_ns);
  tireless_cpus_ = elapsed_ns == 0 ? 0
                                   : static_cast<double>(tireless_ticks_ * TickNs()) /
                                         static_cast<double>(elapsed_ns);
  ++looks_;
  if (busiest == 0) return;
  judged_.insert(busiest);
  if (!Talks(busiest, own)) return;
  const std::optional<ProcessTimes> times =
      ParseProcessStat(ReadStart(absl::StrCat(proc_, "/", busiest, "/stat")));
  if (times.has_value()) talkers_.insert(times->name);
}

std::vector<NeighbourWatch::Neighbour> NeighbourWatch::Busiest(size_t most) const {
  const uint64_t tick_ns = TickNs();
  std::vector<Neighbour> neighbours;
  for (const auto& [name, ticks] : ticks_by_name_) {
    neighbours.push_back({name, ticks * tick_ns, talkers_.count(name) != 0});
  }
  // By name where the time is the same, so that the same run writes the same bytes.
  std::sort(neighbours.begin(), neighbours.end(), [](const Neighbour& a, const Neighbour& b) {
    return std::tie(b.cpu_ns, a.name) < std::tie(a.cpu_ns, b.name);
  });
  if (neighbours.size() > most) neighbours.resize(most);
  return neighbours;
}

}  // namespace coz::supervisor
