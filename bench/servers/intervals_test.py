#!/usr/bin/env python3
import math
import unittest

import intervals
from intervals import Interval


class IntervalsTest(unittest.TestCase):
    def test_mean_has_students_interval(self):
        interval = intervals.mean_interval([1, 2, 3, 4, 5])
        # Standard deviation sqrt(2.5), t of 4 degrees 2.776.
        self.assertAlmostEqual(interval.value, 3)
        self.assertAlmostEqual(interval.low, 3 - 2.776 * math.sqrt(2.5 / 5))
        self.assertAlmostEqual(interval.high, 3 + 2.776 * math.sqrt(2.5 / 5))

    def test_one_figure_has_no_bounds(self):
        self.assertEqual(intervals.mean_interval([7]), Interval(7, -math.inf, math.inf))

    def test_quantile_never_falls_below_the_true_one(self):
        self.assertEqual(intervals.t_quantile(1), 12.706)
        self.assertEqual(intervals.t_quantile(30), 2.042)
        self.assertEqual(intervals.t_quantile(39), 2.042)
        self.assertEqual(intervals.t_quantile(40), 2.021)
        self.assertEqual(intervals.t_quantile(1000), 1.980)
        self.assertEqual(intervals.t_quantile(0), math.inf)

    def test_doubled_rate_saves_half_of_the_time(self):
        self.assertAlmostEqual(intervals.gain([(100, 200), (50, 100)]).value, 0.5)

    def test_lower_rate_is_a_negative_gain(self):
        self.assertAlmostEqual(intervals.gain([(200, 100)]).value, -1)

    def test_ratio_is_of_each_pair(self):
        interval = intervals.ratio([(100, 90), (1000, 1100)])
        self.assertAlmostEqual(interval.value, 1)
        self.assertLess(interval.low, 0.9)

    def test_intervals_agree_where_they_touch(self):
        self.assertTrue(intervals.agree(Interval(1, 0, 2), Interval(3, 2, 4)))
        self.assertFalse(intervals.agree(Interval(1, 0, 2), Interval(3.5, 2.1, 4)))
        self.assertFalse(intervals.agree(Interval(3.5, 2.1, 4), Interval(1, 0, 2)))

    def test_between_points_bounds_go_straight_too(self):
        points = [(0, Interval(0, 0, 0)), (0.5, Interval(0.2, 0.1, 0.4)), (1, Interval(0.4, 0.1, 0.8))]
        found = intervals.at(points, 0.75)
        self.assertAlmostEqual(found.value, 0.3)
        self.assertAlmostEqual(found.low, 0.1)
        self.assertAlmostEqual(found.high, 0.6)

    def test_beyond_the_last_point_the_last_line_goes_on(self):
        points = [(0, Interval(0, 0, 0)), (0.5, Interval(1, 0.5, 1.5)), (0.75, Interval(2, 1, 3))]
        self.assertEqual(intervals.at(points, 1), Interval(3, 1.5, 4.5))

    def test_before_the_first_point_the_first_counts(self):
        points = [(0.1, Interval(1, 0, 2)), (0.9, Interval(3, 2, 4))]
        self.assertEqual(intervals.at(points, 0), points[0][1])
        self.assertEqual(intervals.at(points[:1], 1), points[0][1])


if __name__ == "__main__":
    unittest.main()
