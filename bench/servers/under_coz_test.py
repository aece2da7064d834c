#!/usr/bin/env python3
import pathlib
import tempfile
import unittest

import under_coz
from intervals import Interval
from processes import Failed


def unit(name, function, samples):
    return {"name": name, "function": function, "samples": samples}


def curve_point(place, value):
    return {"virtual_speedup": place, "program_speedup": {"value": value, "low": value - 0.1, "high": value + 0.1}}


def report():
    return {
        "sessions": [{"sampling_period_ns": 900_000, "end": {"inserted_delay_ns": 2_000_000_000}},
                     {"sampling_period_ns": 900_000, "end": None}],
        "units": [unit("Extend(unsigned int, char const*)", "Extend", 100), unit("a.cc:3", "other", 50),
                  unit("helper", "helper", 20)],
        "points": [{"name": "requests", "visits": 9000,
                    "lines": [{"unit": 0, "curve": {"points": [curve_point(0, 0), curve_point(0.5, 0.2)]}}],
                    "set_aside": [{"unit": 1, "sentence": "too few speedups"}]},
                   {"name": "idle", "visits": 0, "lines": [], "set_aside": []}],
    }


class UnderCozTest(unittest.TestCase):
    def test_time_of_a_unit_is_its_samples_by_visits(self):
        self.assertAlmostEqual(under_coz.unit_ns_per_visit(report(), ["Extend"], "requests"), 100 * 900_000 / 9000)

    def test_times_of_units_add_up(self):
        self.assertAlmostEqual(under_coz.unit_ns_per_visit(report(), ["Extend", "helper"], "requests"), 120 * 100)

    def test_unit_without_samples_takes_no_time(self):
        self.assertEqual(under_coz.unit_ns_per_visit(report(), ["absent"], "requests"), 0)

    def test_point_without_visits_is_a_failure(self):
        with self.assertRaisesRegex(Failed, "idle was not visited"):
            under_coz.unit_ns_per_visit(report(), ["Extend"], "idle")

    def test_missing_point_is_named_with_those_that_are_there(self):
        with self.assertRaisesRegex(Failed, "no progress point absent, but: requests, idle"):
            under_coz.unit_ns_per_visit(report(), ["Extend"], "absent")

    def test_prediction_is_read_from_the_curve(self):
        found = under_coz.prediction(report(), "Extend", "requests", 0.25)
        self.assertAlmostEqual(found.value, 0.1)
        self.assertIsInstance(found, Interval)

    def test_unit_set_aside_fails_with_cozs_reason(self):
        with self.assertRaisesRegex(Failed, "too few speedups"):
            under_coz.prediction(report(), "a.cc:3", "requests", 0.25)

    def test_unit_without_experiments_fails(self):
        with self.assertRaisesRegex(Failed, "no experiment with helper"):
            under_coz.prediction(report(), "helper", "requests", 0.25)

    def test_delay_of_a_session_cut_short_does_not_count(self):
        self.assertEqual(under_coz.inserted_delay_s(report()), 2)

    def test_rate_is_of_the_time_without_delays(self):
        self.assertAlmostEqual(under_coz.without_delays(900, 10, 1), 1000)
        self.assertEqual(under_coz.without_delays(900, 10, 10), float("inf"))

    def test_speedups_end_at_the_step_beyond_the_real_one(self):
        self.assertEqual(under_coz.speedups_around(0.78), [0, 60, 65, 70, 75, 80])
        self.assertEqual(under_coz.speedups_around(0.80), [0, 60, 65, 70, 75, 80])
        self.assertEqual(under_coz.speedups_around(1), [0, 80, 85, 90, 95, 100])

    def test_small_speedups_still_have_five_steps(self):
        self.assertEqual(under_coz.speedups_around(0.03), [0, 5, 10, 15, 20, 25])

    def test_rate_is_found_behind_what_else_was_printed(self):
        self.assertEqual(under_coz.rate_of_session("coz: note\nrequests per second: 12.500\ncoz: wrote\n"), 12.5)
        with self.assertRaisesRegex(Failed, "printed no rate but: nothing"):
            under_coz.rate_of_session("nothing\n")

    def test_report_without_a_sample_is_one_and_a_failure_is_none(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "coz"

            def report_of(status):
                program.write_text("#!/bin/sh\necho '{}'\necho why >&2\nexit %d\n" % status)
                program.chmod(0o755)
                return under_coz.Coz(program, [], pathlib.Path(folder)).report("profile.pb")

            self.assertEqual(report_of(0), {})
            self.assertEqual(report_of(3), {})
            with self.assertRaisesRegex(Failed, "cannot read profile.pb: why"):
                report_of(1)


if __name__ == "__main__":
    unittest.main()
