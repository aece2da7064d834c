#include "coz/report/plot/testing/sample_profile.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coz/report/testing/synthetic_profile.h"

namespace coz::report_testing {
namespace {

constexpr uint32_t kLatencyPoint = 2;

std::function<double(double)> Shape(int i) {
  const double size = 1 / (1 + i / 12.0);
  switch (i % 6) {
    case 0:
      return [size](double s) { return 0.6 * size * s; };
    case 1:
      return [size](double s) { return 0.7 * size * std::min(s, 0.6); };
    case 2:
      return [](double) { return 0.0; };
    case 3:
      return [size](double s) { return -0.35 * size * s; };
    case 4:
      return [size](double s) { return size * (s < 0.5 ? 0.5 * s : 0.25 - 0.4 * (s - 0.5)); };
    default:
      return [size](double s) { return 0.12 * size * s; };
  }
}

std::vector<SyntheticLine> Lines(int count) {
  const std::vector<std::string> files = {
      "net/connection.cc", "net/http_parser.cc", "store/btree.cc", "store/page_cache.cc",
      "query/planner.cc",  "query/join.cc",      "util/arena.h",   "util/hash_map.h"};
  const std::vector<std::string> functions = {
      "server::Connection::Read(std::span<std::byte>)",
      "server::ParseHeader(std::string_view, Header*)",
      "store::BTree<Key, Value>::Find(const Key&) const",
      "store::PageCache::Pin(PageId)",
      "query::Planner::Cost(const Plan&)",
      "query::HashJoin::Probe(const Row&, std::vector<Row>*)",
      "util::Arena::Allocate(size_t, size_t)",
      "util::HashMap<std::string, int>::operator[](const std::string&)"};
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += 1 / (i + 4.0);
  std::vector<SyntheticLine> lines;
  for (int i = 0; i < count; ++i) {
    const size_t file = static_cast<size_t>(i) % files.size();
    SyntheticLine line;
    line.file = absl::StrCat("/home/me/server/src/", files[file]);
    line.line = static_cast<uint32_t>(20 + 7 * (i / static_cast<int>(files.size())));
    line.function = functions[file];
    line.share = 0.97 / (i + 4.0) / sum;
    line.program_speedup = Shape(i);
    lines.push_back(std::move(line));
  }
  return lines;
}

// A latency that follows half of what the throughput does.
void AddLatency(const SyntheticOptions& options, profile::Profile* profile) {
  profile::ProgressPoint* point = profile->add_progress_point();
  point->set_session(options.session);
  point->set_id(kLatencyPoint);
  point->set_name("transaction");
  point->set_kind(profile::PROGRESS_POINT_KIND_LATENCY);
  for (profile::Experiment& experiment : *profile->mutable_experiment()) {
    const double effective = static_cast<double>(experiment.effective_duration_ns());
    const double visits = static_cast<double>(experiment.point(0).visits());
    const double rate = visits / effective * options.ns_per_visit;
    profile::PointCounts* counts = experiment.add_point();
    counts->set_point(kLatencyPoint);
    counts->set_arrivals(experiment.point(0).visits() / 4);
    counts->set_departures(experiment.point(0).visits() / 4);
    counts->set_in_flight_average(3 * std::sqrt(rate));
  }
}

// A scheduler selects a line because it has just seen it run.
void AddSelectedSamples(profile::Profile* profile) {
  for (profile::Experiment& experiment : *profile->mutable_experiment()) {
    if (experiment.selected_samples() > 0) continue;
    constexpr uint64_t kSamples = 3;
    experiment.set_selected_samples(kSamples);
    experiment.set_total_samples(experiment.total_samples() + kSamples);
    experiment.add_unit_id(experiment.selected_unit());
    experiment.add_unit_samples(kSamples);
  }
}

// Every fifth line has no samples in the first third of the run.
void MakePhases(int lines, profile::Profile* profile) {
  const int later = profile->experiment_size() / 3;
  for (int i = 0; i < later; ++i) {
    profile::Experiment* experiment = profile->mutable_experiment(i);
    for (int j = 0; j < experiment->unit_id_size(); ++j) {
      const bool selected = experiment->unit_id(j) == experiment->selected_unit();
      if (lines > 10 && experiment->unit_id(j) % 5 == 0 && !selected) {
        experiment->set_unit_samples(j, 0);
      }
    }
  }
}

// Names of threads, and how often each has called a function that is counted.
void AddThreads(const SyntheticOptions& options, profile::Profile* profile) {
  profile::ThreadCounter* counter = profile->add_thread_counter();
  counter->set_session(options.session);
  counter->set_id(1);
  counter->set_name("server::Queue::Push");
  for (const char* name : {"worker", "logger"}) {
    profile::Thread* thread = profile->add_thread();
    thread->set_session(options.session);
    thread->set_name(name);
    thread->set_threads(1);
    thread->set_samples(name[0] == 'w' ? 900 : 100);
    thread->set_cpu_ns(thread->samples() * 1'000'000);
    thread->add_counter(1);
    thread->add_visits(thread->samples() * 7);
  }
}

}  // namespace

profile::Profile SampleProfile(int lines) {
  SyntheticOptions options;
  const bool large = lines > 500;
  options.experiment_ns = large ? 100'000'000 : 500'000'000;
  options.ns_per_visit = 200'000;
  options.noise = 0.04;
  options.seed = 5;
  SyntheticProfile made(options, Lines(lines));
  const int rounds = large ? 2 : 8;
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < lines; ++i) {
      const size_t line = static_cast<size_t>(i);
      made.AddExperiment(line, 0);
      for (int k = 0; k < 3; ++k) {
        made.AddExperiment(line, 0.05 * (1 + (7 * (round * 3 + k) + i) % 20));
      }
    }
  }
  made.End();
  AddSelectedSamples(&made.profile());
  AddLatency(options, &made.profile());
  AddThreads(options, &made.profile());
  MakePhases(lines, &made.profile());
  return made.profile();
}

}  // namespace coz::report_testing
