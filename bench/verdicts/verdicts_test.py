#!/usr/bin/env python3
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import known_answer
import original_profile
import verdicts


def varint(value):
    out = b""
    while True:
        byte, value = value & 0x7F, value >> 7
        out += bytes([byte | (0x80 if value else 0)])
        if not value:
            return out


def experiment(start_ns, elapsed_ns):
    body = b"\x09" + bytes(8) + varint(6 << 3) + varint(start_ns) + varint(7 << 3) + varint(elapsed_ns)
    return varint(4 << 3 | 2) + varint(len(body)) + body


def line(verdict, sure, width):
    return {"verdict": verdict, "sure": sure, "statistical_slope": {"low": 0.3, "high": 0.3 + width}}


class VerdictsTest(unittest.TestCase):
    def test_experiments_end_where_their_records_do(self):
        other = varint(1 << 3 | 2) + varint(3) + b"abc"
        first = other + experiment(1_000_000_000, 500_000_000)
        both = first + other + experiment(2_000_000_000, 600_000_000)
        self.assertEqual(verdicts.experiment_ends(both), [(1.5, len(first)), (2.6, len(both))])

    def test_a_line_is_settled_by_a_sure_verdict_or_a_narrow_interval(self):
        self.assertTrue(verdicts.is_settled(line("faster", True, 0.3)))
        self.assertFalse(verdicts.is_settled(line("faster", False, 0.3)))
        self.assertFalse(verdicts.is_settled(line("cannot_tell", True, 0.3)))
        self.assertTrue(verdicts.is_settled(line("cannot_tell", True, 0.09)))

    def test_the_last_time_that_something_was_open_counts(self):
        self.assertEqual(verdicts.first_time([5, 10, 15], [True, False, True]), 15)
        self.assertEqual(verdicts.first_time([5, 10, 15], [False, True, True]), 10)
        self.assertIsNone(verdicts.first_time([5, 10], [True, False]))


class OriginalTest(unittest.TestCase):
    @staticmethod
    def profile(rows):
        """Of (line, speedup, duration, visits)."""
        return "startup\ttime=1\n" + "".join(
            f"experiment\tselected={line}\tspeedup={speedup}\tduration={duration}\tselected-samples=9\n"
            f"throughput-point\tname=p\tdelta={visits}\n" for line, speedup, duration, visits in rows)

    def test_experiments_fill_the_run_in_proportion(self):
        text = self.profile([("a.c:1", 0, 1000, 10), ("a.c:1", 0.5, 3000, 10), ("a.c:1", 0.5, 1e19, 10), ("a.c:1", 0.5, 9, 0)])
        self.assertEqual(original_profile.experiments(text, 20),
                         [(5, "a.c:1", 0, 1000, 10), (20, "a.c:1", 0.5, 3000, 10)])

    def test_a_slope_goes_through_the_origin(self):
        value, half = original_profile.slope([(0, 1000, 10), (0.2, 900, 10), (0.4, 800, 10), (0.6, 700, 10)])
        self.assertAlmostEqual(value, 0.5)
        self.assertAlmostEqual(half, 0)
        self.assertIsNone(original_profile.slope([(0.2, 900, 10), (0.4, 800, 10), (0.6, 700, 10)]), "without a baseline")
        self.assertIsNone(original_profile.slope([(0, 1000, 10), (0.2, 900, 10), (0.4, 800, 10)]), "by two speedups")

    def test_a_line_is_settled_by_what_was_made_until_then(self):
        rows = [(1, "a", 0, 1000, 10), (2, "a", 0.2, 900, 10), (3, "a", 0.4, 800, 10), (4, "a", 0.6, 700, 10)]
        self.assertEqual(original_profile.settled_lines(rows, 4, 0.1, 0.1), {"a"})
        self.assertEqual(original_profile.settled_lines(rows, 3, 0.1, 0.1), set())
        rows[1] = (2, "a", 0.2, 2000, 10)
        self.assertEqual(original_profile.settled_lines(rows, 4, 0.1, 0.1), set())


class KnownAnswerTest(unittest.TestCase):
    @staticmethod
    def line(verdict, low, high, speedup=0.3, sure=True):
        gain = {"value": (low + high) / 2, "low": low, "high": high}
        return {"unit": 0, "verdict": verdict, "sure": sure, "verdict_word": verdict,
                "headline": {"text": "", "virtual_speedup": speedup, "program_speedup": gain}}

    def test_right_is_the_verdict_and_the_gain(self):
        self.assertTrue(known_answer.is_right("Decode", self.line("faster", 0.17, 0.19)))
        self.assertFalse(known_answer.is_right("Decode", self.line("faster", 0.19, 0.21)))
        self.assertFalse(known_answer.is_right("Decode", self.line("cannot_tell", 0.17, 0.19)))
        self.assertFalse(known_answer.is_right("Decode", self.line("faster", 0.17, 0.19, sure=False)))
        self.assertTrue(known_answer.is_right("Compress", self.line("no_effect", -0.02, 0.01)))

    def test_the_truth_is_that_at_the_speedup_that_is_quoted(self):
        self.assertTrue(known_answer.is_right("Check", self.line("faster", 0.09, 0.11, speedup=0.25)))
        self.assertEqual(known_answer.true_gain("Check", 1), 0.3)

    def test_a_line_that_is_set_aside_is_wrong(self):
        report = {"units": [{"function": "(anonymous namespace)::Decode"}], "points": [{"lines": [self.line("faster", 0.1, 0.2)]}]}
        said = known_answer.judge(report)
        self.assertEqual([said[f][0] for f in ("Decode", "Check", "Compress")], [True, False, False])


if __name__ == "__main__":
    unittest.main()
