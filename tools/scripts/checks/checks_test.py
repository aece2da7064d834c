#!/usr/bin/env python3
"""Each check finds the fault that it is for, and leaves alone what is none."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
# pylint: disable=wrong-import-position
import links
import rooms
import signal_safe
import width


def tree_of(files):
    folder = tempfile.TemporaryDirectory()
    for path, text in files.items():
        full = os.path.join(folder.name, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)
    return folder


class CheckCase(unittest.TestCase):
    def faults(self, find_faults, files):
        with tree_of(files) as root:
            return find_faults(root)

    def assert_clean(self, find_faults, files):
        self.assertEqual(self.faults(find_faults, files), [])

    def assert_fault(self, find_faults, files, text):
        found = self.faults(find_faults, files)
        self.assertEqual(len(found), 1, found)
        self.assertIn(text, found[0])


class WidthTest(CheckCase):
    def test_a_comment_of_101_columns_is_found(self):
        self.assert_fault(width.find_faults, {"coz/a.h": "// " + "x" * 98 + "\n"}, "coz/a.h:1: 101 columns")

    def test_a_comment_behind_code_is_found(self):
        self.assert_fault(width.find_faults, {"coz/a.cc": "int x;  // " + "y" * 98 + "\n"}, "coz/a.cc:1")

    def test_columns_are_letters_and_not_bytes(self):
        self.assert_clean(width.find_faults, {"coz/a.h": "// " + "→" * 97 + "\n"})

    def test_wide_line_of_work_is_one_line(self):
        work = "x" * 98 + ";  // LINE"
        self.assert_clean(width.find_faults, {"coz/a.cc": work + "(sort)\n"})
        self.assert_fault(width.find_faults, {"coz/a.cc": work + " by itself\n"}, "coz/a.cc:1")

    def test_folders_are_counted(self):
        self.assertEqual(width.by_folder(["coz/a.h:1: 101 columns", "coz/a.h:2: 102 columns"]), ["    2 coz"])


class LinksTest(CheckCase):
    PAGE = "# Page\n\n## What `it` does, now\n"

    def page_and(self, path, text):
        return {"docs/page.md": self.PAGE, path: text}

    def test_a_link_to_a_page_and_its_heading_is_clean(self):
        self.assert_clean(links.find_faults, self.page_and(
            "README.md", "[a](docs/page.md#what-it-does-now), [b](https://example.org/x)\n"))

    def test_a_link_that_leads_nowhere_is_found(self):
        self.assert_fault(links.find_faults, self.page_and("docs/other.md", "[a](pag.md)\n"), "leads nowhere")

    def test_an_anchor_without_its_heading_is_found(self):
        self.assert_fault(links.find_faults, self.page_and("docs/other.md", "[a](page.md#what)\n"), "no heading for #what")

    def test_a_section_that_exists_is_clean_over_two_lines_too(self):
        self.assert_clean(links.find_faults, self.page_and(
            "coz/a.h", '// Source   docs/page.md,\n//          "What it does, now"\n'))

    def test_a_section_that_does_not_exist_is_found(self):
        self.assert_fault(links.find_faults, self.page_and("coz/a.h", '// Source   docs/page.md, "It"\n'), 'no section "It"')

    def test_the_number_of_a_section_is_found(self):
        self.assert_fault(links.find_faults, self.page_and("coz/a.h", "// Source   docs/page.md section 4\n"), "look up")

    def test_the_number_of_an_issue_is_found(self):
        self.assert_fault(links.find_faults, {"coz/a.h": "// Source   issue 5, item 1\n"}, "issue 5, item 1")

    def test_a_page_that_an_options_help_names_and_that_is_gone_is_found(self):
        self.assert_fault(links.find_faults, {"tools/a.cc": '  Add("as JSON (docs/gone.md)");\n'}, "docs/gone.md does not exist")

    def test_a_file_that_a_comment_names_and_that_is_gone_is_found(self):
        self.assert_fault(links.find_faults, {"coz/a.h": "// See coz/b.h.\n"}, "coz/b.h does not exist")

    def test_code_may_name_what_is_made_later(self):
        self.assert_clean(links.find_faults, {"coz/a.cc": 'open("coz/made/later");\n'})

    def test_braces_and_stars_are_expanded(self):
        self.assert_clean(links.find_faults, {"coz/a.h": "// coz/{a,b}.h and coz/*.h\n", "coz/b.h": ""})

    def test_a_test_that_is_gone_is_found(self):
        self.assert_fault(links.find_faults, {"coz/a.h": "// See gone_test.cc.\n"}, "gone_test.cc")

    def test_a_target_that_is_gone_is_found(self):
        build = {"coz/BUILD.bazel": 'cc_test(name = "here_test")\n'}
        self.assert_clean(links.find_faults, {**build, "coz/a.cc": "// ./bazelw test //coz:here_test\n"})
        self.assert_fault(links.find_faults, {**build, "coz/a.cc": "// ./bazelw test //coz:gone\n"}, "//coz:gone")


class RoomsTest(CheckCase):
    def test_what_the_design_allows_is_clean(self):
        self.assert_clean(rooms.include_faults, {
            "coz/shared/a.h": '#include "coz/sync/delay/b.h"\n',
            "coz/sampler/a_test.cc": '#include "coz/testing/b.h"\n',
            "tools/a.cc": '#include "coz/runtime/coz.h"\n'})

    def test_a_room_that_includes_its_user_is_found(self):
        self.assert_fault(rooms.include_faults, {"coz/base/a.h": '#include "coz/shared/b.h"\n'}, "coz/base is not to use coz/shared")

    def test_statistics_that_include_a_profile_are_found(self):
        self.assert_fault(rooms.include_faults, {"coz/report/statistics/a.h": '#include "coz/report/format/b.h"\n'},
                          "coz/report/statistics is not to use coz/report")

    def test_a_new_room_is_found(self):
        self.assert_fault(rooms.include_faults, {"coz/new/a.h": '#include "coz/base/b.h"\n'}, "coz/new")

    def test_a_circle_in_the_table_is_found(self):
        rooms.USES["coz/base"].append("coz/shared")
        try:
            self.assertIn("in a circle", rooms.cycle()[0])
        finally:
            rooms.USES["coz/base"].remove("coz/shared")

    GRAPH = '  "//coz/runtime:libcoz.so" -> "//coz/base:clock"\n'

    def test_dependencies_that_the_design_allows_are_clean(self):
        self.assertEqual(rooms.graph_faults(self.GRAPH), [])

    def test_a_dependency_on_a_user_is_found(self):
        found = rooms.graph_faults(self.GRAPH + '  "//coz/base:clock" -> "//coz/runtime:marks"\n')
        self.assertEqual(len(found), 1, found)

    def test_abseil_in_the_target_is_found_wherever_it_comes_in(self):
        found = rooms.graph_faults(self.GRAPH + '  "//coz/base:clock" -> "@com_google_absl//absl/strings:strings"\n')
        self.assertEqual(len(found), 1, found)
        self.assertIn("no Abseil", found[0])

    def test_a_graph_of_something_else_is_found(self):
        self.assertEqual(len(rooms.graph_faults("digraph {}")), 1)


class SignalSafeTest(unittest.TestCase):
    def test_a_library_without_the_tag_is_found(self):
        self.assertEqual(signal_safe.find_faults("\n"), [])
        self.assertIn("//coz/a:b", signal_safe.find_faults("//coz/a:b\n")[0])


if __name__ == "__main__":
    unittest.main()
