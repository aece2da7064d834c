#include "bench/accuracy/cases.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace coz::accuracy {
namespace {

constexpr char kPrograms[] = "bench/accuracy/programs/";

Case MakeCase(const std::string& name, const std::string& what, const std::string& point,
              const std::vector<std::string>& labels) {
  Case made;
  made.name = name;
  made.what = what;
  made.point = point;
  for (const std::string& label : labels) made.lines.push_back({label, name + ".cc"});
  return made;
}

std::vector<Case> MakeCases() {
  std::vector<Case> cases = {
      MakeCase("serial", "one thread", "items", {"parse", "print"}),
      MakeCase("fork_join", "create and join each round", "rounds", {"long_half", "short_half"}),
      MakeCase("join", "two threads joined by an idle one", "pairs", {"slow", "fast"}),
      MakeCase("pipeline", "queue, mutex and condition variable", "items", {"produce", "consume"}),
      MakeCase("mutex", "contended mutex", "items", {"inside", "outside"}),
      MakeCase("spinlock", "contended pthread_spin_lock", "items", {"inside", "outside"}),
      MakeCase("barrier", "barrier, uneven threads", "rounds", {"heavy", "light"}),
      MakeCase("rwlock", "reader-writer lock", "items", {"update", "lookup"}),
      MakeCase("semaphore", "queue, semaphores", "items", {"consume", "produce"}),
      MakeCase("timed_wait", "condition variable, timed waits", "rounds", {"helper", "leader"}),
      MakeCase("atomic_wait", "C++20 atomic wait", "rounds", {"helper", "leader"}),
      MakeCase("futex", "futex(2) called directly", "rounds", {"leader", "helper"}),
      MakeCase("spin_wait", "spinning on an atomic", "rounds", {"helper", "leader"}),
      MakeCase("short_rounds", "condition variable, rounds of 0.15 ms", "rounds",
               {"helper", "leader"}),
      MakeCase("qsort", "libc's qsort calls back", "sorts", {"compare", "check"}),
      MakeCase("strings", "strlen and memcpy", "texts", {"scan", "copy"}),
      MakeCase("printf", "fprintf to /dev/null", "pages", {"format", "compute"}),
      MakeCase("std_sort", "std::sort inlined at -O2", "sorts", {"sort", "check"}),
      MakeCase("inlined", "template inlined in three places", "items", {"mix", "other"}),
      MakeCase("sleep_io", "sleeps beside computation", "items", {"decode", "encode"}),
      MakeCase("disk_io", "pread and fdatasync beside computation", "items", {"parse", "compute"}),
      MakeCase("latency", "open loop, latency", "order", {"serve", "receive"}),
      MakeCase("openmp", "OpenMP parallel for, uneven halves", "loops", {"dear", "cheap"}),
      MakeCase("pipes", "threads read from pipes", "rounds", {"leader", "helper"}),
      MakeCase("processes", "two processes over pipes", "rounds", {"child", "parent"}),
      MakeCase("thread_per_task", "a detached thread per task", "tasks", {"task", "prepare"}),
      MakeCase("thread_pool", "pool of two threads", "batches", {"task", "merge"}),
      MakeCase("plugin", "library opened by dlopen", "images", {"filter", "load"}),
      MakeCase("async", "a future, then work alone", "rounds", {"task", "beside", "after"}),
      MakeCase("openmp_serial", "OpenMP region, then serial work", "regions",
               {"starter", "helping", "serial"}),
      MakeCase("count_serial", "count under a mutex, then serial work", "rounds",
               {"starter", "helping", "serial"}),
      MakeCase("own_locks", "contended mutex, and locks of each thread", "items",
               {"inside", "outside"}),
      MakeCase("polling_wait", "spinning without the CPU's hint", "rounds", {"helper", "leader"}),
      MakeCase("wait_sleep", "a thread that sleeps, and a barrier", "rounds", {"nap"}),
      MakeCase("wait_pipe", "answers through a FIFO from outside", "items", {"answer"}),
      MakeCase("wait_network", "answers over TCP from outside", "items", {"answer"}),
      MakeCase("wait_disk", "fdatasync as the disk takes it", "items", {"sync"}),
      MakeCase("crowded_barrier", "barrier, four threads on two CPUs", "rounds",
               {"heavy", "light"}),
      MakeCase("crowded_mutex", "contended mutex, five threads on two CPUs", "items",
               {"inside", "outside"}),
      MakeCase("crowded_pipeline", "pipeline, six threads on two CPUs", "items",
               {"read", "change", "write"}),
      MakeCase("crowded_queue", "queue, nine threads on two CPUs", "tasks", {"make", "work"}),
      MakeCase("crowded_server", "epoll server and its clients over TCP", "requests",
               {"serve", "ask"}),
      MakeCase("crowded_processes", "tasks over sockets, six processes", "tasks", {"make", "work"}),
      MakeCase("crowded_futures", "four futures a round", "rounds", {"task", "own"}),
      MakeCase("crowded_tasks", "oneTBB tasks in an arena of six", "groups", {"task", "between"}),
      MakeCase("crowded_openmp", "OpenMP loop of six threads", "loops", {"loop", "serial"}),
      MakeCase("crowded_mailbox", "hand-overs through memory, seven threads", "requests",
               {"answer", "forward"}),
      MakeCase("crowded_nice", "barrier beside a thread of low priority", "rounds",
               {"longer", "shorter"}),
      MakeCase("wide_barrier", "barrier, one thread longer", "rounds", {"heavy", "light"}),
      MakeCase("wide_mutex", "a mutex that is nearly always held", "items", {"inside", "outside"}),
      MakeCase("wide_queue", "queue, one producer", "tasks", {"make", "work"}),
      MakeCase("wide_pipeline", "pipeline of three stages", "items", {"read", "change", "write"}),
      MakeCase("wide_openmp", "OpenMP loop, then serial work", "loops", {"loop", "serial"}),
      MakeCase("wide_futures", "a future a thread, each round", "rounds", {"task", "own"}),
      MakeCase("wide_spin", "spinning barrier, one thread longer", "rounds", {"heavy", "light"}),
      MakeCase("wide_server", "epoll server and its clients over TCP", "requests",
               {"serve", "ask"}),
  };
  for (Case& one_case : cases) {
    for (Line& line : one_case.lines) {
      if (line.label == "helper" || line.label == "leader") line.file = "rounds.h";
    }
    if (one_case.name == "latency") one_case.is_latency = true;
    if (one_case.name.rfind("crowded_", 0) == 0) one_case.is_crowded = true;
    if (one_case.name.rfind("wide_", 0) == 0) one_case.is_wide = true;
    if (one_case.name.rfind("wait_", 0) == 0) one_case.waits = true;
    if (one_case.name == "plugin") {
      one_case.lines[0].file = "plugin_library.cc";
      one_case.binary_scope = {"MAIN", "%libplugin%"};
    }
  }
  return cases;
}

}  // namespace

const std::vector<Case>& AllCases() {
  static const std::vector<Case>* const cases = new std::vector<Case>(MakeCases());
  return *cases;
}

std::string RandomPlan(int number, const RandomKind& kind) {
  std::string text = std::to_string(number);
  if (kind.shape == RandomKind::Shape::kCrowd) text = "crowd(" + text + ")";
  if (kind.shape == RandomKind::Shape::kPool) text = "pool(" + text + ")";
  return (kind.is_of_processes ? "processes " : "") + text;
}

Case RandomCase(const std::string& plan) {
  Case drawn = MakeCase("random", "drawn at random", "rounds", {"a", "b"});
  drawn.plan = plan;
  return drawn;
}

std::string RepositoryFile(const std::string& path) {
  std::error_code ignored;
  const std::string own = std::filesystem::read_symlink("/proc/self/exe", ignored).string();
  const char* workspace = getenv("TEST_WORKSPACE");
  std::vector<std::string> candidates = {path, own + ".runfiles/coz/" + path};
  const char* runfiles = getenv("TEST_SRCDIR");
  if (workspace != nullptr && runfiles != nullptr) {
    candidates.push_back(std::string(runfiles) + "/" + workspace + "/" + path);
  }
  for (const std::string& candidate : candidates) {
    if (access(candidate.c_str(), R_OK) == 0) {
      return std::filesystem::canonical(candidate, ignored).string();
    }
  }
  return path;
}

std::string ProgramPath(const Case& one_case) { return RepositoryFile(kPrograms + one_case.name); }

std::string SourcePath(const Line& line) { return RepositoryFile(kPrograms + line.file); }

int LineNumber(const Line& line) {
  std::ifstream source(SourcePath(line));
  const std::string mark = "// LINE(" + line.label + ")";
  std::string text;
  int found = 0;
  for (int number = 1; std::getline(source, text); ++number) {
    if (text.find(mark) == std::string::npos) continue;
    if (found != 0) return 0;
    found = number;
  }
  return found;
}

}  // namespace coz::accuracy
