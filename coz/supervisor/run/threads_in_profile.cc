#include "coz/supervisor/run/threads_in_profile.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "coz/shared/api_calls.h"
#include "coz/supervisor/run/valid_utf8.h"

namespace coz::supervisor {
namespace {

void AddThread(const ThreadUse& thread, const std::vector<ThreadCounter>& counters,
               uint64_t start_ns, profile::Thread* written) {
  written->set_pid(thread.pid);
  written->set_tid(thread.tid);
  written->set_name(thread.name);
  written->set_threads(thread.threads);
  written->set_start_ns(thread.start_ns > start_ns ? thread.start_ns - start_ns : 0);
  if (thread.end_ns > start_ns) written->set_end_ns(thread.end_ns - start_ns);
  written->set_samples(thread.samples);
  written->set_samples_in_scope(thread.samples_in_scope);
  written->set_cpu_ns(thread.cpu_ns);
  written->set_left_out(!thread.is_in_scope);
  for (size_t i = 0; i < std::min(thread.visits.size(), counters.size()); ++i) {
    if (thread.visits[i] == 0 || counters[i].name.empty()) continue;
    written->add_counter(static_cast<uint32_t>(i + 1));
    written->add_visits(thread.visits[i]);
  }
  for (const TimedCalls& timed : thread.timed) {
    if (timed.calls == 0) continue;
    written->add_timed_counter(timed.counter + 1);
    written->add_timed_calls(timed.calls);
    written->add_timed_wall_ns(timed.wall_ns);
    written->add_timed_cpu_ns(timed.cpu_ns);
  }
}

}  // namespace

void AddThreads(const std::vector<ThreadUse>& threads, const std::vector<ThreadCounter>& counters,
                uint64_t session, uint64_t start_ns, profile::Profile* profile) {
  for (size_t i = 0; i < counters.size(); ++i) {
    const std::string& name = counters[i].name;
    if (name.empty()) continue;
    profile::ThreadCounter* counter = profile->add_thread_counter();
    counter->set_session(session);
    counter->set_id(static_cast<uint32_t>(i + 1));
    counter->set_timed(counters[i].is_timed);
    counter->set_ends_in_jump(counters[i].ends_in_jump);
    const size_t separator = name.find(shared::kApiSeparator);
    if (separator == std::string::npos) {
      counter->set_name(ValidUtf8(name));
      continue;
    }
    counter->set_api_function(ValidUtf8(name.substr(0, separator)));
    counter->set_api_caller(ValidUtf8(name.substr(separator + 1)));
    counter->set_name(absl::StrCat(counter->api_function(), " from ", counter->api_caller()));
  }
  for (const ThreadUse& thread : threads) {
    profile::Thread* written = profile->add_thread();
    written->set_session(session);
    AddThread(thread, counters, start_ns, written);
  }
}

}  // namespace coz::supervisor
