#include "coz/report/compact/testing/put_together.h"

#include "absl/status/status.h"
#include "coz/report/compact/compact.h"
#include "gtest/gtest.h"

namespace coz::report {

profile::Profile Together(const std::vector<profile::Profile>& inputs) {
  profile::Profile all;
  for (const profile::Profile& input : inputs) all.MergeFrom(input);
  return all;
}

profile::Profile Compacted(const std::vector<profile::Profile>& inputs, size_t most) {
  Compactor compactor(most);
  for (const profile::Profile& input : inputs) {
    compactor.Add(input);
    compactor.EndInput();
  }
  profile::Profile result;
  EXPECT_TRUE(compactor
                  .Finish([&result](const profile::Profile& record) {
                    result.MergeFrom(record);
                    return absl::OkStatus();
                  })
                  .ok());
  return result;
}

}  // namespace coz::report
