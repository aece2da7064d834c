#include "coz/supervisor/points/api_functions.h"

#include <set>
#include <string>
#include <vector>

#include "coz/shared/control_block.h"
#include "coz/testing/zeroed_control.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kLibrary[] = "/lib/x86_64-linux-gnu/libz.so.1";

class ApiFunctionsTest : public ::testing::Test {
 protected:
  std::vector<ApiFunctions::Place> LookFor(const std::string& pattern,
                                           const std::vector<std::string>& latencies = {}) {
    EXPECT_TRUE(functions_.Prepare({pattern}, {{}, latencies}, /*times=*/!latencies.empty()).ok());
    return functions_.LookInFile(control_.get(), kLibrary);
  }

  testing::OwnedControl control_ = testing::ZeroedControl();
  ApiFunctions functions_;
};

TEST_F(ApiFunctionsTest, NumbersFunctionsItself) {
  // What the target writes there is no place of the table.
  control_->api.count = 0x7fffffff;
  ASSERT_EQ(LookFor("libz.so.1:deflate").size(), 1u);
  EXPECT_EQ(control_->api.count, 1u);
  EXPECT_STREQ(control_->api.functions[0].name, "libz.so.1!deflate");
}

TEST_F(ApiFunctionsTest, EndsOfALatencyPointSayThatTheyBelongToOne) {
  const std::vector<ApiFunctions::Place> places =
      LookFor("libz.so.1:inflate", {"api:libz.so.1:none", "api:libz.so.1:deflate"});
  std::set<std::string> functions;
  for (const ApiFunctions::Place& place : places) {
    if (place.edge.kind != PlaceEdge::Kind::kEnd) continue;
    const shared::ApiFunction& function =
        control_->api
            .functions[place.edge.argument % shared::kEndHasLatency - shared::kFirstApiEnd];
    const bool is_of_point = std::string(function.name) == "libz.so.1!deflate";
    EXPECT_EQ(function.latency, is_of_point ? 2u : 0u) << function.name;
    EXPECT_EQ((place.edge.argument & shared::kEndHasLatency) != 0, is_of_point) << function.name;
    functions.insert(function.name);
  }
  EXPECT_EQ(functions.size(), 2u);
}

TEST_F(ApiFunctionsTest, SaysOfWhichFunctionsTheLatencyIsNotKnown) {
  LookFor("libz.so.1:none", {"api:libz.so.1:adler32"});
  EXPECT_THAT(functions_.TakeWarnings(),
              ElementsAre(HasSubstr("latency of calls of 1 function of libz.so.1")));
  EXPECT_EQ(control_->api.functions[0].latency, 0u);
}

TEST(IsCallLatencyTest, APairIsNone) {
  EXPECT_TRUE(IsCallLatency("api:libz.so:deflate"));
  EXPECT_TRUE(IsCallLatency("api:libx.so:Map<int, int>::Find"));
  EXPECT_FALSE(IsCallLatency("api:libz.so:deflate,main"));
  EXPECT_FALSE(IsCallLatency("deflate"));
}

}  // namespace
}  // namespace coz::supervisor
