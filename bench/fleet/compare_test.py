#!/usr/bin/env python3
import unittest

import compare


class CompareTest(unittest.TestCase):
    def test_only_figures_may_differ_and_only_by_rounding(self):
        one = {"lines": [{"name": "a", "slope": 0.4, "experiments": 7}]}
        self.assertIsNone(compare.difference(one, {"lines": [{"name": "a", "slope": 0.4 + 1e-12, "experiments": 7}]}))
        for other, path in (({"name": "a", "slope": 0.401, "experiments": 7}, ".lines[0].slope"),
                            ({"name": "a", "slope": 0.4, "experiments": 8}, ".lines[0].experiments"),
                            ({"name": "b", "slope": 0.4, "experiments": 7}, ".lines[0].name"),
                            ({"name": "a", "slope": None, "experiments": 7}, ".lines[0].slope")):
            self.assertTrue(compare.difference(one, {"lines": [other]}).startswith(path + ": "))

    def test_a_missing_row_or_key_is_a_difference(self):
        self.assertTrue(compare.difference([1, 2], [1]).startswith("the whole: "))
        self.assertTrue(compare.difference({"a": 1}, {"a": 1, "b": 2}).startswith("the whole: "))

    def test_lines_are_compared_in_order(self):
        self.assertIsNone(compare.difference_of_lines('{"a": 1}\n{"a": 2}\n', '{"a": 1}\n{"a": 2}\n'))
        self.assertTrue(compare.difference_of_lines('{"a": 1}\n{"a": 2}', '{"a": 2}\n{"a": 1}').startswith("[0].a: "))


if __name__ == "__main__":
    unittest.main()
