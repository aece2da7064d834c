// The HTML report in a real browser: it loads without a complaint, and filters, sorts, keys and
// views do what they say.
#include <algorithm>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coz/report/plot/testing/sample_profile.h"
#include "coz/report/testing/synthetic_profile.h"
#include "coz/testing/browser/browser.h"
#include "coz/testing/run_command.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using ::coz::testing::Browser;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kEnter[] = "\uE007";
constexpr char kEscape[] = "\uE00C";
constexpr char kRight[] = "\uE014";

class PlotBrowserTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { browser_ = testing::OpenBrowser().release(); }
  static void TearDownTestSuite() {
    delete browser_;
    browser_ = nullptr;
  }

  void SetUp() override {
    ASSERT_NE(browser_, nullptr) << "the browser did not start";
    browser_->Resize(1500, 1000);
  }

  // Writes the profile's report and opens it.
  void Show(const profile::Profile& profile, const std::string& state = "",
            const std::vector<std::string>& options = {}) {
    const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    const std::string path = absl::StrCat(::testing::TempDir(), "/", name);
    std::ofstream(path + ".pb", std::ios::binary) << profile.SerializeAsString();
    std::vector<std::string> command = {testing::RunfilePath("tools/coz"), "plot", path + ".pb",
                                        "-o", path + ".html"};
    command.insert(command.end(), options.begin(), options.end());
    const testing::CommandResult plot = testing::RunCommand(command);
    ASSERT_EQ(plot.status, 0) << plot.errors;
    browser_->Open("about:blank");
    browser_->Complaints();
    browser_->Open(absl::StrCat("file://", path, ".html", state));
    ASSERT_TRUE(browser_->WaitFor("document.documentElement.dataset.ready"));
  }

  std::string Text(const std::string& selector) {
    const auto value = browser_->Run(absl::StrCat("const e = document.querySelector('", selector,
                                                  "'); return e ? e.textContent : '(none)';"));
    return value.is_string() ? value.get<std::string>() : "";
  }
  int Count(const std::string& selector) {
    return browser_->Run(
        absl::StrCat("return document.querySelectorAll('", selector, "').length;"));
  }
  std::vector<std::string> Places() {
    return browser_->Run(
        "return [...document.querySelectorAll('#cards .place')].map((e) => e.textContent);");
  }
  // What is wider than its place: cut off, or scrolled sideways. Source may scroll, and names may
  // end in dots.
  std::vector<std::string> CutSideways(const std::string& selector) {
    return browser_->Run(absl::StrCat(
        "const edge = (e) => e.getBoundingClientRect().right;"
        "return [...document.querySelectorAll('",
        selector,
        " *')].filter((e) => "
        "!e.closest('.code, svg') && getComputedStyle(e).textOverflow !== 'ellipsis' && "
        "(edge(e) > innerWidth + 1 || e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0))"
        ".map((e) => e.outerHTML.slice(0, 90));"));
  }
  void Choose(const std::string& id, const std::string& value) {
    browser_->Run(absl::StrCat("const e = document.getElementById('", id, "'); e.value = '", value,
                               "'; e.dispatchEvent(new Event('input', {bubbles: true}));"
                               "e.dispatchEvent(new Event('change', {bubbles: true}));"));
  }
  void Click(const std::string& selector) {
    browser_->Run(absl::StrCat("document.querySelector('", selector, "').click();"));
  }

  static Browser* browser_;
};

Browser* PlotBrowserTest::browser_ = nullptr;

profile::Profile Fifty() { return report_testing::SampleProfile(50); }

TEST_F(PlotBrowserTest, LoadsWithoutAComplaintAndShowsPlotsInView) {
  Show(Fifty());
  EXPECT_EQ(Text("#count"), "50 lines");
  EXPECT_GE(Count("#cards svg.plot path.curve"), 6);
  EXPECT_GE(Count("#cards svg.plot path.band"), 6);
  EXPECT_LT(Count("#cards li"), 50) << "cards out of view exist";
  EXPECT_THAT(Text("#details .sentence"), HasSubstr("Making this 30"));
  EXPECT_THAT(browser_->Complaints(), IsEmpty());
}

TEST_F(PlotBrowserTest, OneLineAndNoneAreShown) {
  Show(report_testing::SampleProfile(1));
  EXPECT_EQ(Text("#count"), "1 line");
  profile::Profile bare = report_testing::SampleProfile(1);
  bare.clear_experiment();
  Show(bare);
  EXPECT_THAT(Text("#empty"), HasSubstr("Nothing was measuredNo progress point was visited."));
  bare.clear_progress_point();
  Show(bare);
  EXPECT_THAT(Text("#empty"), HasSubstr("No progress point was seen"));
  EXPECT_THAT(browser_->Complaints(), IsEmpty());
}

TEST_F(PlotBrowserTest, SentenceSaysFirstWhatIsWorthMost) {
  Show(Fifty());
  EXPECT_THAT(Text("#headline"), HasSubstr("Making " + Places()[0] + " 30"));
  EXPECT_THAT(Text("#headline"), HasSubstr(" other lines are worth it, too."));
  Click("#points button:nth-child(2)");
  EXPECT_THAT(Text("#headline"), HasSubstr("transaction"));
  Show(report_testing::SampleProfile(1));
  EXPECT_THAT(Text("#headline"), Not(HasSubstr("other")));
}

TEST_F(PlotBrowserTest, FiltersAreOfferedWhereThereIsSomethingToFilter) {
  const auto is_shown = [](const std::string& id) {
    return browser_->Run(absl::StrCat("return document.getElementById('", id,
                                      "').getClientRects().length > 0;")) == true;
  };
  Show(Fifty());
  for (const char* id : {"points", "search-field", "sort-field", "file-field", "verdicts"}) {
    EXPECT_TRUE(is_shown(id)) << id;
  }
  Show(report_testing::SampleProfile(3));
  EXPECT_TRUE(is_shown("points"));
  for (const char* id : {"search-field", "sort-field", "file-field", "minimum-field", "verdicts"}) {
    EXPECT_FALSE(is_shown(id)) << id;
  }
  // What the address asks for can be taken back.
  Show(report_testing::SampleProfile(3), "#search=arena");
  EXPECT_TRUE(is_shown("search-field"));
}

TEST_F(PlotBrowserTest, LinesSetAsideAreShownWithWhatTheyLack) {
  profile::Profile profile = report_testing::SampleProfile(3);
  // Few are left, so that some lines have too few speedups.
  profile.mutable_experiment()->DeleteSubrange(6, profile.experiment_size() - 6);
  Show(profile);
  ASSERT_GT(Count("#cards .card.aside"), 0);
  EXPECT_THAT(Text("#cards .card.aside .verdict"), HasSubstr("set aside"));
  EXPECT_THAT(Text("#cards .card.aside .sentence"), HasSubstr("Needs "));
  EXPECT_THAT(Text("#headline"), HasSubstr("it is not yet known"));
}

// The profile has two points.
TEST_F(PlotBrowserTest, ALineIsSetAsideOnceHoweverManyPointsThereAre) {
  profile::Profile profile = report_testing::SampleProfile(1);
  profile.mutable_experiment()->DeleteSubrange(3, profile.experiment_size() - 3);
  Show(profile, "#view=run");
  EXPECT_THAT(Text("#view-run .plain-list"), HasSubstr("1 line set aside: needs "));
  EXPECT_EQ(Count("#view-run .plain-list:not(.notes) li"), 1);
}

TEST_F(PlotBrowserTest, SmallLinesSayWhatTheyBringAtMostAndWhatToDo) {
  std::vector<report_testing::SyntheticLine> lines;
  for (uint32_t i = 1; i <= 100; ++i) lines.push_back({"/src/a.cc", i, "A()", 0.01, 0, {}});
  report_testing::SyntheticOptions noisy;
  noisy.noise = 0.1;
  report_testing::SyntheticProfile made(noisy, lines);
  for (int i = 0; i < 40; ++i) made.AddExperiment(0, 0);
  for (double speedup : {0.2, 0.5, 0.8}) made.AddExperiment(1, speedup);
  Show(made.profile());
  EXPECT_THAT(Text("#headline"), HasSubstr("look at larger parts with coz run --unit=function"));
  EXPECT_THAT(Text("#details .figures"), HasSubstr("However fast"));
  EXPECT_THAT(Text("#details .figures"), Not(HasSubstr("Slope")));
  EXPECT_THAT(Text("#cards .card.small .no-plot"), HasSubstr("needs no experiments"));
  EXPECT_THAT(Text("#cards .card.small .figures"), HasSubstr("at most 0."));
  EXPECT_THAT(browser_->Complaints(), IsEmpty());
}

// Figures that are missing have words.
TEST_F(PlotBrowserTest, NoPlaceholderOfTheLanguageIsShown) {
  for (const int points : {1, 2}) {
    for (const int experiments : {6, 40, 1 << 20}) {
      profile::Profile profile = report_testing::SampleProfile(3);
      if (points == 1) profile.mutable_progress_point()->RemoveLast();
      const int kept = std::min(experiments, profile.experiment_size());
      profile.mutable_experiment()->DeleteSubrange(kept, profile.experiment_size() - kept);
      for (const char* view : {"lines", "timeline", "run", "meaning"}) {
        Show(profile, absl::StrCat("#view=", view));
        const std::string text = browser_->Run("return document.body.innerText;");
        for (const char* placeholder : {"null", "undefined", "NaN", "Infinity", "[object"}) {
          EXPECT_THAT(text, Not(HasSubstr(placeholder)))
              << view << ", points: " << points << ", experiments: " << kept;
        }
      }
    }
  }
}

TEST_F(PlotBrowserTest, FiveThousandLinesScrollToTheLast) {
  Show(report_testing::SampleProfile(5000));
  EXPECT_EQ(Text("#count"), "5,000 lines");
  EXPECT_LT(Count("#cards li"), 60);
  browser_->Run("scrollTo(0, document.documentElement.scrollHeight);");
  EXPECT_TRUE(browser_->WaitFor("document.querySelector('#cards li[aria-posinset=\"5000\"] svg')"));
  EXPECT_LT(Count("#cards li"), 60);
  EXPECT_THAT(browser_->Complaints(), IsEmpty());
}

TEST_F(PlotBrowserTest, FiltersNarrowTheLines) {
  Show(Fifty());
  Choose("search", "btree find");
  EXPECT_EQ(Text("#count"), "6 of 50 lines");
  EXPECT_THAT(Places(), ::testing::Each(HasSubstr("store/btree.cc")));
  Click("#reset");
  EXPECT_EQ(Text("#count"), "50 lines");
  Choose("file", "/home/me/server/src/util/arena.h");
  EXPECT_EQ(Text("#count"), "6 of 50 lines");
  EXPECT_EQ(Count("#function option"), 2) << "functions of other files are offered";
  Click("#reset");
  Choose("function", "server::ParseHeader(std::string_view, Header*)");
  EXPECT_EQ(Text("#count"), "7 of 50 lines");
  Click("#reset");
  // As many as the first line has, and more than any has.
  const int first = browser_->Run(
      "const line = JSON.parse(document.getElementById('data').textContent).lines[0];"
      "return line.b + line.pb + line.n;");
  Choose("minimum", absl::StrCat(first));
  EXPECT_GT(Count("#cards li"), 0);
  Choose("minimum", "100000");
  EXPECT_THAT(Text("#empty"), HasSubstr("No line passes these filters"));
  Click("#reset");
  Click("[data-verdict=\"no_effect\"]");
  EXPECT_EQ(Count("#cards .verdict.no_effect"), 0);
  EXPECT_GT(Count("#cards .verdict.faster"), 0);
  EXPECT_THAT(browser_->Complaints(), IsEmpty());
}

TEST_F(PlotBrowserTest, SortsOrderTheLines) {
  Show(Fifty());
  Choose("sort", "place");
  EXPECT_THAT(Places()[0], "net/connection.cc:20");
  EXPECT_THAT(Places()[1], "net/connection.cc:27");
  Choose("sort", "hurts");
  EXPECT_THAT(Text("#cards li .verdict"), HasSubstr("hurts"));
  Choose("sort", "samples");
  EXPECT_THAT(Places()[0], "net/connection.cc:20");
  const auto shares = browser_->Run(
      "return [...document.querySelectorAll('#cards .figures')].map((e) => "
      "parseFloat(e.children[1].textContent));");
  for (size_t i = 1; i < shares.size(); ++i) EXPECT_LE(shares[i], shares[i - 1]);
}

TEST_F(PlotBrowserTest, ProgressPointsAreSwitched) {
  Show(Fifty());
  EXPECT_EQ(Count("#points button"), 2);
  Click("[data-point=\"1\"]");
  EXPECT_THAT(Text("#cards .sentence"), HasSubstr("transaction"));
  EXPECT_THAT(Text("#details .sentence"), HasSubstr("transaction"));
}

// With 18 more progress points.
profile::Profile ManyPoints() {
  profile::Profile profile = Fifty();
  for (uint32_t i = 0; i < 18; ++i) {
    profile::ProgressPoint* point = profile.add_progress_point();
    *point = profile.progress_point(0);
    point->set_id(100 + i);
    point->set_name(absl::StrCat("point_", i, "_of_a_server_with_many_of_them"));
  }
  return profile;
}

TEST_F(PlotBrowserTest, ManyProgressPointsAreAMenu) {
  Show(ManyPoints());
  EXPECT_EQ(Count("#points button"), 0);
  EXPECT_EQ(Count("#point option"), 20);
  EXPECT_EQ(Count("#cards svg") > 0, true);
  browser_->Run(
      "const menu = document.getElementById('point'); menu.value = '1';"
      "menu.dispatchEvent(new Event('change'));");
  EXPECT_THAT(Text("#headline"), HasSubstr("transaction"));
}

TEST_F(PlotBrowserTest, TheToolbarLeavesRoomForTheLines) {
  for (const auto& [width, height] : std::vector<std::pair<int, int>>{
           {1280, 800}, {1024, 600}, {800, 600}, {700, 500}, {390, 800}}) {
    browser_->Resize(width, height);
    Show(ManyPoints());
    EXPECT_LT(browser_->Run("return document.querySelector('.toolbar').offsetHeight;"),
              3 * height / 10)
        << width << " by " << height;
  }
}

TEST_F(PlotBrowserTest, TheDetailsStickBelowTheToolbar) {
  browser_->Resize(1280, 800);
  Show(ManyPoints());
  browser_->Run("scrollTo(0, 1500);");
  ASSERT_TRUE(browser_->WaitFor("scrollY > 1000"));
  EXPECT_GE(browser_->Run("return document.getElementById('details').getBoundingClientRect().top - "
                          "document.querySelector('.toolbar').getBoundingClientRect().bottom;"),
            0);
  EXPECT_GE(browser_->Run("return innerHeight - "
                          "document.getElementById('details').getBoundingClientRect().bottom;"),
            0);
}

TEST_F(PlotBrowserTest, AddressKeepsTheChoice) {
  Show(Fifty(), "#search=arena&sort=samples&view=lines");
  EXPECT_EQ(Text("#count"), "6 of 50 lines");
  EXPECT_EQ(browser_->Run("return document.getElementById('sort').value;"), "samples");
  Choose("search", "join");
  EXPECT_THAT(browser_->Run("return location.hash;").get<std::string>(), HasSubstr("search=join"));
}

TEST_F(PlotBrowserTest, KeysMoveOpenSearchAndClose) {
  Show(Fifty());
  browser_->Press(kEscape);
  EXPECT_EQ(browser_->Run("return document.getElementById('details').hidden;"), true);
  browser_->Press(absl::StrCat(kRight, kEnter));
  EXPECT_THAT(Text("#details h2"), Places()[1]);
  EXPECT_EQ(browser_->Run("return document.activeElement.id;"), "details-heading");
  browser_->Press("/");
  EXPECT_EQ(browser_->Run("return document.activeElement.id;"), "search");
  browser_->Press("planner");
  EXPECT_THAT(Places(), ::testing::Each(HasSubstr("planner")));
  browser_->Press(kEscape);
  browser_->Press("2");
  EXPECT_EQ(browser_->Run("return document.getElementById('view-timeline').hidden;"), false);
}

TEST_F(PlotBrowserTest, TimeLineAndRunAreDrawn) {
  profile::Profile profile = Fifty();
  profile.mutable_experiment(3)->mutable_validity()->add_taint()->set_reason(
      profile::Taint::OWED_DELAY);
  profile.mutable_session(0)->set_fallback_reason("perf is forbidden (EACCES)");
  Show(profile, "#view=timeline");
  EXPECT_EQ(Count(".timeline canvas"), 1 + 2 + 12);
  EXPECT_THAT(Text("#view-timeline .legend"), Not(HasSubstr("nothing was measured")));
  const auto inked = browser_->Run(
      "return [...document.querySelectorAll('.timeline canvas')].every((c) => "
      "c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some((v) => v > 0));");
  EXPECT_EQ(inked, true);
  browser_->Press("3");
  const std::string run = Text("#view-run");
  EXPECT_THAT(run, HasSubstr("coz run --seed=5 --sampling-period=1 --- ./app --threads=2"));
  EXPECT_EQ(run.find("1 experiment not used"), run.rfind("1 experiment not used"));
  EXPECT_THAT(run, HasSubstr("1 experiment not used: 1 delay still owed at the end"));
  EXPECT_THAT(run, Not(HasSubstr("all that was tried, is in the figures")));
  EXPECT_THAT(run, HasSubstr("Latency without speedup"));
  EXPECT_THAT(run, HasSubstr("server::Queue::Push"));
  EXPECT_THAT(run, HasSubstr("perf is forbidden (EACCES)"));
  EXPECT_THAT(browser_->Complaints(), IsEmpty());
}

// A third of the run without experiments is no time in which the program did nothing.
TEST_F(PlotBrowserTest, ATimeWithoutExperimentsIsSaidToBeThat) {
  profile::Profile profile = Fifty();
  const int third = profile.experiment_size() / 3;
  profile.mutable_experiment()->DeleteSubrange(third, third);
  Show(profile, "#view=timeline");
  EXPECT_THAT(Text("#view-timeline .legend"), HasSubstr("nothing was measured"));
}

TEST_F(PlotBrowserTest, EachFigureLinksToWhatItMeans) {
  Show(Fifty());
  ASSERT_GT(Count("#details .term"), 3);
  const int terms = Count("#details .term");
  for (int i = 0; i < terms; ++i) {
    Show(Fifty());
    const std::string name =
        browser_->Run(absl::StrCat("const term = document.querySelectorAll('#details .term')[", i,
                                   "]; term.click(); return term.textContent;"));
    EXPECT_EQ(Text("#view-meaning .sought"), name);
    EXPECT_EQ(browser_->Run("return document.activeElement.textContent;"), name);
  }
  EXPECT_THAT(browser_->Complaints(), IsEmpty());
}

TEST_F(PlotBrowserTest, TheSlopeIsSaidOfStraightCurvesAlone) {
  Show(Fifty());
  const auto figures = [](bool bends) {
    return browser_
        ->Run(absl::StrCat("[...document.querySelectorAll('#cards .card.faster')].find((card) => "
                           "/ beyond |at 100.%/.test(card.textContent) === ",
                           bends ? "true" : "false",
                           ").querySelector('button').click();"
                           "return document.querySelector('#details .figures').textContent;"))
        .get<std::string>();
  };
  EXPECT_THAT(figures(true), ::testing::AllOf(HasSubstr("Bends at"), Not(HasSubstr("Slope"))));
  EXPECT_THAT(figures(false), ::testing::AllOf(HasSubstr("Slope"), Not(HasSubstr("Bends at"))));
}

TEST_F(PlotBrowserTest, SourceIsShownAroundTheLine) {
  const std::string folder = testing::TemporaryFolder();
  std::ofstream source(folder + "/connection.cc");
  for (int i = 1; i <= 40; ++i) source << "line_" << i << "(a < b && \"</script>\");\n";
  source.close();
  Show(report_testing::SampleProfile(1), "", {"--source", folder});
  EXPECT_THAT(Text("#cards .source"), HasSubstr("line_20(a < b && \"</script>\");"));
  // The profile is of 2023.
  EXPECT_THAT(Text("#cards .source"), HasSubstr("changed since"));
  EXPECT_THAT(Text("#details .warning"), HasSubstr("changed after the profile was begun"));
  EXPECT_THAT(Text(".code .here"), HasSubstr("line_20("));
  EXPECT_EQ(Count(".code li"), 13);
}

TEST_F(PlotBrowserTest, OtherUnitsAreCalledWhatTheyAre) {
  profile::Profile profile = Fifty();
  for (profile::Unit& unit : *profile.mutable_unit()) {
    unit.set_kind(profile::UNIT_KIND_FUNCTION);
    unit.set_function(absl::StrCat("F", unit.id(), "()"));
  }
  for (profile::Session& session : *profile.mutable_session()) {
    session.mutable_options()->set_unit_kind(profile::UNIT_KIND_FUNCTION);
  }
  Show(profile);
  EXPECT_EQ(Text("#count"), "50 functions");
  EXPECT_EQ(Text("#tab-lines"), "Functions");
  EXPECT_EQ(Places()[0], "F1()");
  EXPECT_EQ(Text("#cards .function"), "net/connection.cc:20");
  EXPECT_THAT(Text("#details .command"), HasSubstr("--unit=function --fixed-line 'F1()'"));
}

TEST_F(PlotBrowserTest, CallPathsAreATreeAndOpenTheirFigures) {
  Show(Fifty());
  EXPECT_EQ(browser_->Run("return document.getElementById('tab-paths').hidden;"), true);
  profile::Profile profile = report_testing::SampleProfile(3);
  const char* const kNames[] = {"log < main", "helper < serve", "helper < log"};
  for (profile::Unit& unit : *profile.mutable_unit()) {
    unit.set_kind(profile::UNIT_KIND_PATH);
    unit.set_function(kNames[unit.id() % 3]);
    unit.set_thread_group("io");
  }
  Show(profile);
  EXPECT_THAT(Text("#cards .place"), ::testing::EndsWith("@io"));
  Click("#tab-paths");
  EXPECT_EQ(Count("#view-paths tbody tr"), 8);
  EXPECT_EQ(Text("#view-paths tbody th"), "helper");
  EXPECT_EQ(Text("#view-paths tbody tr:nth-child(3) th"), "@io");
  const std::string indents = browser_->Run(
      "return [...document.querySelectorAll('#view-paths tbody th')].slice(0, 3)"
      ".map((e) => e.style.paddingLeft).join();");
  EXPECT_EQ(indents, "0px,22px,44px");
  Click("#view-paths tbody tr:nth-child(3) button");
  EXPECT_EQ(Count("#view-lines:not([hidden])"), 1);
  EXPECT_THAT(Text("#details h2"), HasSubstr("helper < "));
}

TEST_F(PlotBrowserTest, NamesNeverBecomeMarkup) {
  profile::Profile profile = report_testing::SampleProfile(3);
  const std::string evil =
      "</script><script>window.pwned=1</script><img src=x onerror=\"pwned=1\">";
  profile.mutable_unit(0)->set_file("/src/" + evil);
  profile.mutable_unit(1)->set_function(evil);
  profile.mutable_progress_point(0)->set_name(evil);
  profile.mutable_session(0)->set_command(0, evil + "\xff\xe2\x80\xa8");
  profile.mutable_session(0)->mutable_machine()->set_host(evil);
  Show(profile, "#view=run");
  EXPECT_EQ(browser_->Run("return typeof window.pwned;"), "undefined");
  EXPECT_EQ(Count("img"), 0);
  EXPECT_THAT(Text("#points .point-name"), HasSubstr("<img src=x"));
  EXPECT_THAT(browser_->Complaints(), IsEmpty());
}

TEST_F(PlotBrowserTest, LongNamesOfPointsAreCutAndBeginAtTheLeft) {
  profile::Profile profile = report_testing::SampleProfile(3);
  std::string name;
  for (int i = 0; i < 80; ++i) name += "long ";
  for (profile::ProgressPoint& point : *profile.mutable_progress_point()) {
    point.set_name(name + point.name());
  }
  Show(profile);
  EXPECT_LE(browser_->Run("return document.querySelector('.legend-name').offsetWidth;"), 260);
  EXPECT_EQ(
      browser_->Run("return document.querySelector('.legend-name').title;").get<std::string>(),
      profile.progress_point(0).name());
  EXPECT_EQ(browser_->Run(
                "return getComputedStyle(document.querySelector('.elsewhere .link')).textAlign;"),
            "left");
}

TEST_F(PlotBrowserTest, PolicyForbidsOtherScriptsAndTheNetwork) {
  Show(report_testing::SampleProfile(1));
  browser_->Run(
      "const s = document.createElement('script'); s.textContent = 'window.pwned = 1';"
      "document.body.append(s); fetch('http://127.0.0.1:9/').catch(() => {});");
  EXPECT_EQ(browser_->Run("return typeof window.pwned;"), "undefined");
  EXPECT_THAT(browser_->Complaints(), ::testing::Contains(HasSubstr("Content Security Policy")));
}

TEST_F(PlotBrowserTest, FiguresHaveARealMinusAndKeepTheirPercentSign) {
  Show(Fifty(), "#sort=hurts");
  EXPECT_THAT(Text("#cards .card .figures"), ::testing::StartsWith("−"));
  for (int view = 1; view <= 4; ++view) {
    browser_->Press(std::to_string(view));
    EXPECT_EQ(browser_->Run("const text = document.querySelector('main').innerText;"
                            "return (text.match(/.*([0-9] %|[ (]-[0-9]).*/g) || []).join('|');"),
              "")
        << "view " << view;
  }
}

TEST_F(PlotBrowserTest, ThemesDifferAndTheChoiceIsKept) {
  Show(Fifty());
  const std::string page = "return getComputedStyle(document.body).backgroundColor;";
  const auto light = browser_->Run(page);
  browser_->Press("t");
  const auto dark = browser_->Run(page);
  EXPECT_NE(light, dark);
  browser_->Press("t");
  EXPECT_EQ(browser_->Run(page), light);
}

// The time of a visit grows sevenfold for one line: -600 %.
TEST_F(PlotBrowserTest, EffectsBeyondTheAxesHaveAnArrowAndTheirFigure) {
  profile::Profile profile = Fifty();
  for (profile::Experiment& experiment : *profile.mutable_experiment()) {
    if (experiment.selected_unit() != 4 || experiment.virtual_speedup() == 0) continue;
    const double times = 1 + 6 * experiment.virtual_speedup();
    profile::PointCounts* counts = experiment.mutable_point(0);
    counts->set_visits(static_cast<uint64_t>(static_cast<double>(counts->visits()) / times));
  }
  Show(profile, "#sort=hurts");
  EXPECT_THAT(Text("#cards .card .verdict"), HasSubstr("hurts"));
  const auto percent = browser_->Run(
      "return parseInt(document.querySelector('#cards .beyond').textContent.replace('−', '-'));");
  EXPECT_LT(percent.get<int>(), -400);
  EXPECT_GE(Count("#cards .card:first-child .clipped"), 5);
  EXPECT_EQ(Count("#cards .card.no_effect .clipped"), 0);
  EXPECT_THAT(browser_->Complaints(), IsEmpty());
}

TEST_F(PlotBrowserTest, NarrowScreensHaveOneColumnWithoutScrollingSideways) {
  browser_->Resize(360, 800);
  Show(Fifty());
  EXPECT_LE(browser_->Run("return document.documentElement.scrollWidth - innerWidth;"), 0);
  EXPECT_EQ(browser_->Run("return new Set([...document.querySelectorAll('#cards li')].map((e) => "
                          "e.getBoundingClientRect().left)).size;"),
            1);
  Click("#cards li button");
  EXPECT_EQ(browser_->Run("return document.getElementById('details').getBoundingClientRect().top;"),
            0);
  EXPECT_THAT(CutSideways("#details"), IsEmpty());
}

TEST_F(PlotBrowserTest, NarrowScreensShowTablesWhole) {
  browser_->Resize(360, 800);
  Show(Fifty(), "#view=run");
  EXPECT_EQ(Count("#view-run table"), 4) << "progress points, latencies, threads and their visits";
  EXPECT_LE(browser_->Run("return document.documentElement.scrollWidth - innerWidth;"), 0);
  EXPECT_THAT(CutSideways("#view-run"), IsEmpty());
  browser_->Press("2");
  EXPECT_THAT(CutSideways("#view-timeline"), IsEmpty());
}

TEST_F(PlotBrowserTest, EveryControlHasAName) {
  Show(Fifty());
  const auto nameless = browser_->Run(
      "return [...document.querySelectorAll('button, input, select, svg[role=img], canvas')]"
      ".filter((e) => !(e.getAttribute('aria-label') || e.textContent.trim() || e.title || "
      "(e.labels && e.labels.length))).map((e) => e.outerHTML);");
  EXPECT_EQ(nameless.dump(), "[]");
}

}  // namespace
}  // namespace coz
