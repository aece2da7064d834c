#include "coz/supervisor/units/unit_index.h"

#include <sys/stat.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "coz/sourcemap/scope.h"
#include "coz/sourcemap/unit_table.h"
#include "coz/supervisor/target/shared_control.h"
#include "coz/testing/run_command.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

sourcemap::UnitRules Libraries() {
  sourcemap::UnitRules rules;
  rules.kind = sourcemap::UnitKind::kLibrary;
  return rules;
}

// What the target announces, whose libraries are the units.
class UnitIndexTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(control_.ok()) << control_.status(); }

  shared::ModuleSlot& Announce(uint32_t slot, const std::string& path) {
    shared::ModuleSlot& module = control_->block().modules[slot];
    memcpy(&module.path[0], path.data(), path.size());
    control_->block().module_count = slot + 1;
    module.state = shared::ModuleState::kAnnounced;
    return module;
  }

  absl::StatusOr<SharedControl> control_ = SharedControl::Create();
  UnitIndex units_{sourcemap::BinaryScope({"%"}),
                   sourcemap::SourceScope(std::vector<std::string>()), Libraries()};
};

TEST_F(UnitIndexTest, AnswersAnAnnouncementOnce) {
  shared::ModuleSlot& module = Announce(0, "/bin/true");
  units_.Answer(*control_);
  EXPECT_EQ(module.state, shared::ModuleState::kTableReady);
  const uint32_t growth = units_.growth();
  // Each would be read, and kept, as a hostile target names one after the other.
  Announce(0, "/bin/false");
  units_.Answer(*control_);
  EXPECT_EQ(units_.growth(), growth);
}

TEST_F(UnitIndexTest, DoesNotOpenWhatIsNoFile) {
  const std::string pipe = ::testing::TempDir() + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const shared::ModuleSlot& module = Announce(0, pipe);
  units_.Answer(*control_);  // opening it would wait for a writer
  EXPECT_EQ(module.state, shared::ModuleState::kNotMapped);
  EXPECT_TRUE(units_.objects().empty());
}

std::vector<std::string> NamesOf(const UnitIndex& units, const std::vector<uint32_t>& ids) {
  std::vector<std::string> names;
  names.reserve(ids.size());
  for (uint32_t id : ids) names.push_back(units.Describe(id).what.Name());
  return names;
}

TEST_F(UnitIndexTest, FunctionsAreThoseOfSymbolsWhereDebugInformationHasNoLineInScope) {
  sourcemap::UnitRules functions;
  functions.kind = sourcemap::UnitKind::kFunction;
  UnitIndex units(sourcemap::BinaryScope({"%"}), sourcemap::SourceScope(std::vector<std::string>()),
                  functions);
  Announce(0, testing::RunfilePath("coz/supervisor/units/undescribed_program"));
  units.Preannounce(*control_);
  units.Answer(*control_);
  EXPECT_THAT(NamesOf(units, units.Find("own_work")), ElementsAre("own_work"));
  EXPECT_THAT(units.Find("library_work"), IsEmpty());
}

TEST_F(UnitIndexTest, ATemplatesNameNamesItsInstances) {
  sourcemap::UnitRules functions;
  functions.kind = sourcemap::UnitKind::kFunction;
  UnitIndex units(sourcemap::BinaryScope({"%"}), sourcemap::SourceScope({"%"}), functions);
  Announce(0, testing::RunfilePath("coz/supervisor/units/template_program"));
  units.Preannounce(*control_);
  units.Answer(*control_);
  EXPECT_EQ(units.Find("Rounds").size(), 2u);
  EXPECT_THAT(NamesOf(units, units.Find("Deepen")), ElementsAre(HasSubstr("Deepen<3>")));
  EXPECT_THAT(units.Find("Deepe"), IsEmpty());
  EXPECT_THAT(units.Closest("Round"), ElementsAre(HasSubstr("Rounds")));
}

TEST_F(UnitIndexTest, FunctionsOfOneNameAreToldApartByTheirDeclarations) {
  sourcemap::UnitRules functions;
  functions.kind = sourcemap::UnitKind::kFunction;
  UnitIndex units(sourcemap::BinaryScope({"%"}), sourcemap::SourceScope({"%"}), functions);
  Announce(0, testing::RunfilePath("coz/supervisor/units/undescribed_program"));
  units.Preannounce(*control_);
  units.Answer(*control_);
  EXPECT_EQ(units.Find("twice").size(), 2u);
  EXPECT_THAT(NamesOf(units, units.Find("twice of described_library.h:3")), ElementsAre("twice"));
  EXPECT_THAT(units.Find("twice of described_library.h:5"), IsEmpty());
  EXPECT_THAT(units.Find("library_work of described_library.h:3"), IsEmpty());
}

TEST_F(UnitIndexTest, AUnitIsOneForEachGroupOfThreads) {
  units_.SplitByThreadGroup({"io", "worker*"});
  Announce(0, "/bin/true");
  units_.Preannounce(*control_);
  units_.Answer(*control_);
  EXPECT_THAT(NamesOf(units_, units_.Find("true@io")), ElementsAre("/usr/bin/true@io"));
  EXPECT_THAT(NamesOf(units_, units_.Find("true@others")), ElementsAre("/usr/bin/true@others"));
  EXPECT_THAT(NamesOf(units_, units_.Find("true")),
              ElementsAre("/usr/bin/true@io", "/usr/bin/true@worker*", "/usr/bin/true@others"));
  EXPECT_THAT(units_.Find("true@nobody"), IsEmpty());
  EXPECT_EQ(units_.FindCode("true@io").size(), 1u);
  EXPECT_EQ(units_.Unknown("false@io"), "false");
}

// The target writes the numbers of its samples, and the table of units.
TEST_F(UnitIndexTest, WhatNamesNoGroupOfThreadsIsNoUnit) {
  units_.SplitByThreadGroup({"io"});
  Announce(0, "/bin/true");
  units_.Preannounce(*control_);
  units_.Answer(*control_);
  shared::CallPaths& paths = control_->block().paths;
  const uint32_t code = units_.FindCode("true").at(0);
  EXPECT_TRUE(units_.Has(shared::UnitInThreadGroup(paths, code, 1)));
  EXPECT_FALSE(units_.Has(code));
  EXPECT_FALSE(units_.Has(shared::UnitInThreadGroup(paths, code, 2)));
  EXPECT_FALSE(units_.Has(shared::UnitInThreadGroup(paths, code + 1, 0)));
  const uint32_t twice =
      shared::UnitInThreadGroup(paths, shared::UnitInThreadGroup(paths, code, 0), 0);
  EXPECT_FALSE(units_.Has(twice));
}

// A program whose path is so long.
std::string ProgramWithPathOf(size_t bytes) {
  constexpr size_t kLongestName = 200;
  std::string path = std::filesystem::canonical(getenv("TEST_TMPDIR")).string();
  while (path.size() + kLongestName + 2 < bytes) path += "/" + std::string(kLongestName, 'd');
  std::filesystem::create_directories(path);
  path += "/" + std::string(bytes - path.size() - 1, 'p');
  std::filesystem::copy_file("/bin/true", path);
  return path;
}

// What follows it in memory is no part of it.
TEST_F(UnitIndexTest, APathWithoutAnEndIsNoLongerThanItsRoom) {
  static_assert(offsetof(shared::ModuleSlot, table_offset) ==
                offsetof(shared::ModuleSlot, path) + shared::kModulePathBytes);
  const std::string path = ProgramWithPathOf(shared::kModulePathBytes);
  shared::ModuleSlot& module = Announce(0, path);
  memset(&module.table_offset, 'a', sizeof(module.table_offset));
  units_.Answer(*control_);
  EXPECT_EQ(module.state, shared::ModuleState::kTableReady);
  ASSERT_EQ(units_.objects().size(), 1u);
  EXPECT_EQ(units_.objects()[0].path, path);
  module.load_bias = 0x5000;
  memset(&module.table_offset, 'a', sizeof(module.table_offset));
  units_.Answer(*control_);
  EXPECT_EQ(units_.objects()[0].load_bias, 0x5000u);
}

}  // namespace
}  // namespace coz::supervisor
