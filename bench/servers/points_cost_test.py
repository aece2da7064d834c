#!/usr/bin/env python3
"""Tests of what is computed of rates and CPU times."""
import unittest

import points_cost
from points_cost import Speed


class PointsCostTest(unittest.TestCase):
    def test_ratio_is_of_loads_of_one_pair(self):
        # The machine is twice as fast in the second pair.
        pairs = [(Speed(100, 50), Speed(99, 51)), (Speed(200, 25), Speed(198, 25.5)), (Speed(100, 50), Speed(99, 51))]
        block = points_cost.Block(bare=[100, 200, 150], pairs=pairs, said="'f' is counted by jump to a stub")
        self.assertEqual(
            points_cost.row("redis", "f", [block]),
            "| redis | `f` | jump to a stub | 150 | 0.990 [0.990, 0.990] | 1.020 [1.020, 1.020] | 0.660 [0.660, 0.660] |")

    def test_cpu_time_that_is_not_known_is_left_out(self):
        block = points_cost.Block(bare=[100], pairs=[(Speed(100), Speed(99, 51))], said="'f' is counted by jump to a stub")
        self.assertIn("| 0.990 [0.990, 0.990] | unknown |", points_cost.row("redis", "f", [block]))

    def test_speed_has_the_cpu_time_of_all_processes(self):
        before = points_cost.Look(1000, 10, {1: 5.0, 2: 7.0})
        # Another has begun, and one has ended.
        after = points_cost.Look(3000, 10.5, {1: 5.25, 3: 0.05})
        speed = points_cost.between(before, after)
        self.assertEqual(speed.rate, 4000)
        self.assertAlmostEqual(speed.cpu_us, 150)
        self.assertIsNone(points_cost.between(before, points_cost.Look(1000, 11, {})).cpu_us)

    def test_quartiles_leave_out_a_quarter_at_either_end(self):
        self.assertEqual(points_cost.quartiles([9, 1, 2, 3, 4, 5, 0, 8]), "3.500 [2.000, 5.000]")


if __name__ == "__main__":
    unittest.main()
