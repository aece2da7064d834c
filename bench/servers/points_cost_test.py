#!/usr/bin/env python3
"""Tests of what is computed of the rates."""
import unittest

import points_cost


class PointsCostTest(unittest.TestCase):
    def test_ratio_is_of_loads_of_one_pair(self):
        # The machine is twice as fast in the second pair.
        block = points_cost.Rates(bare=[100, 200, 150], without=[100, 200, 100], counted=[99, 198, 99],
                                  said="'f' is counted by jump to a stub")
        self.assertEqual(points_cost.row("redis", "f", [block]),
                         "| redis | `f` | jump to a stub | 150 | 0.990 [0.990, 0.990] | 0.660 [0.660, 0.660] |")

    def test_quartiles_leave_out_a_quarter_at_either_end(self):
        self.assertEqual(points_cost.quartiles([9, 1, 2, 3, 4, 5, 0, 8]), "3.500 [2.000, 5.000]")


if __name__ == "__main__":
    unittest.main()
