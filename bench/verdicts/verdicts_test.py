#!/usr/bin/env python3
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
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


if __name__ == "__main__":
    unittest.main()
