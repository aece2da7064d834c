#!/usr/bin/env python3
import math
import unittest

import intervals
import table
from intervals import Interval
from measure import Row


def whole_row(**changes):
    row = Row("nginx-2", "wrk", True, Interval(1000, 990, 1010), Interval(0.97, 0.95, 0.99), 0.931, "level 1", "knob",
              "deflate", 0.75, Interval(0.5, 0.45, 0.55), Interval(0.6, 0.58, 0.62))
    for name, value in changes.items():
        setattr(row, name, value)
    return row


class TableTest(unittest.TestCase):
    def test_row_shows_each_figure_in_its_unit(self):
        self.assertEqual(table.cells(whole_row(), intervals.agree),
                         ("nginx-2", "wrk", "followed", "1000 ± 10", "0.97 ± 0.02", "0.93", "level 1 (knob)", "deflate",
                          "75%", "50.0 % (45.0 to 55.0)", "", "60.0 % (58.0 to 62.0)", "no"))
        self.assertEqual(table.cells(whole_row(of_unit_alone=0.123), intervals.agree)[10], "12.3 %")

    def test_wide_intervals_do_not_agree_by_their_width(self):
        self.assertEqual(table.cells(whole_row(real=Interval(0.6, 0.35, 0.85)), intervals.agree)[-1], "too wide")
        self.assertEqual(table.cells(whole_row(predicted=Interval(0.6, -math.inf, math.inf)), intervals.agree)[-1], "too wide")
        self.assertEqual(table.cells(whole_row(predicted=Interval(0.6, 0.41, 0.79)), intervals.agree)[-1], "yes")

    def test_what_was_not_measured_is_empty(self):
        cells = table.cells(Row("redis", "asks", False), intervals.agree)
        self.assertEqual(cells[2], "not followed")
        self.assertEqual(cells[3:6] + cells[8:], ("",) * 8)

    def test_figure_of_one_run_has_no_bounds(self):
        once = Interval(1000, -math.inf, math.inf)
        self.assertEqual(table.rate(once), "1000")
        self.assertEqual(table.factor(once.scaled(0.001)), "1.00")
        self.assertEqual(table.percent(once.scaled(0.0005)), "50.0 %")

    def test_markdown_has_a_cell_for_each_heading(self):
        lines = table.markdown([whole_row(), whole_row(followed=None)], intervals.agree).split("\n")
        self.assertEqual(len(lines), 4)
        self.assertEqual({line.count("|") for line in lines}, {len(table.HEADINGS) + 1})

    def test_text_leaves_out_empty_columns(self):
        text = table.text([Row("redis", "asks", False, bare=Interval(5, 4, 6))], intervals.agree)
        self.assertIn("bare, requests/s", text)
        self.assertNotIn("predicted", text)

    def test_text_columns_stand_below_each_other(self):
        lines = table.text([whole_row(), whole_row(server="postgresql-8-socket")], intervals.agree).split("\n")
        self.assertEqual(len({line.index("level 1") for line in lines[1:]} | {lines[0].index("change")}), 1)

    def test_failure_of_all_rows_of_a_server_is_told_once(self):
        rows = [whole_row(failure="it broke"), whole_row(failure="it broke")]
        self.assertEqual(table.text(rows, intervals.agree).count("nginx-2: it broke"), 1)
        self.assertEqual(table.markdown(rows, intervals.agree).count("* nginx-2: it broke"), 1)


if __name__ == "__main__":
    unittest.main()
