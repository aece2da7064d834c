#!/usr/bin/env python3
import pathlib
import unittest
from unittest import mock

import measure
import processes
from measure import Effort, Measurement
from server import AFTER, BEFORE, Server


class Fake(Server):
    name, program, unit, change, kind, load = "fake", "fake", "work", "less work", "knob", "nobody"

    def __init__(self, **changes):
        super().__init__("/nowhere", 1)
        for name, value in changes.items():
            setattr(self, name, value)


class FakeCoz:
    """Half as fast with delays, of which it inserts 1 s; the unit takes 40 us a request, and 10 after the change."""

    def __init__(self):
        self.runs = []

    def run(self, _server, variant, seconds, followed, output, options):
        self.runs.append((variant, seconds, followed, options))
        self.last = output
        return 90 if options == ["--unit=function", "--fixed-speedup=0"] else 45

    def report(self, output):
        return str(output)


def bare_rate(_server, variant, _seconds):
    return {BEFORE: 100, AFTER: 200}[variant]


class MeasureTest(unittest.TestCase):
    def setUp(self):
        self.coz = FakeCoz()
        self.said = []
        of_unit = lambda report, units, _point: 10e3 if "cost-after" in report else 40e3
        for target, value in (("measure.session.run", bare_rate), ("measure.under_coz.unit_ns_per_visit", of_unit),
                              ("measure.under_coz.inserted_delay_s", lambda _report: 1),
                              ("measure.under_coz.prediction", lambda *arguments: arguments[1:])):
            patch = mock.patch(target, value)
            patch.start()
            self.addCleanup(patch.stop)

    def rows(self, server, ways, bare_only=False):
        return Measurement(server, self.coz, Effort(3, 2, 10, bare_only), self.said.append).rows(ways)

    def test_row_has_rates_and_both_gains(self):
        row, = self.rows(Fake(), [True])
        self.assertEqual(row.failure, "")
        self.assertEqual((row.bare.value, row.sampled.value, row.real.value), (100, 0.9, 0.5))
        self.assertAlmostEqual(row.delayed, 0.5)  # 45 a second, in 9 s of 10
        self.assertAlmostEqual(row.unit_speedup, 0.75)
        self.assertEqual(row.predicted, ("work", "requests", 0.75))
        self.assertIsNone(row.of_unit_alone)

    def test_sampled_only_measures_neither_change_nor_prediction(self):
        row, = Measurement(Fake(), self.coz, Effort(3, 2, 10, False, sampled_only=True), self.said.append).rows([True])
        self.assertEqual((row.bare.value, row.sampled.value, row.real, row.predicted), (100, 0.9, None, None))
        self.assertEqual({variant for variant, *_ in self.coz.runs}, {BEFORE})

    def test_what_the_unit_alone_brings_is_known_below_a_quota(self):
        row, = Measurement(Fake(), self.coz, Effort(3, 2, 10, False, 0.5), self.said.append).rows([True])
        self.assertAlmostEqual(row.of_unit_alone, 30e-6 * 90 / 0.5)

    def test_it_is_known_too_where_a_thread_is_always_busy(self):
        row, = self.rows(Fake(busy_cpus=1), [True])
        self.assertAlmostEqual(row.of_unit_alone, 30e-6 * 90)

    def test_each_way_of_the_load_is_a_row_of_its_own_with_one_real_gain(self):
        rows = self.rows(Fake(), [True, False])
        self.assertEqual([row.followed for row in rows], [True, False])
        self.assertEqual(rows[0].real, rows[1].real)
        self.assertEqual({run[2] for run in self.coz.runs}, {True, False})

    def test_every_other_round_goes_backwards(self):
        names = []
        with mock.patch.object(Measurement, "_rate", lambda _self, name: names.append(name) or 1):
            self.rows(Fake(), [True])
        self.assertEqual(names, [BEFORE, AFTER, True, True, AFTER, BEFORE, BEFORE, AFTER, True])

    def test_program_that_asks_itself_is_one_row(self):
        row, = self.rows(Fake(asks_itself=True), [True, False])
        self.assertIsNone(row.followed)

    def test_prediction_is_asked_around_what_the_change_brings(self):
        self.rows(Fake(), [True])
        self.assertEqual(self.coz.runs[-1], (BEFORE, 10, True, ["--unit=function", "--fixed-line", "work",
                                                                 "--fixed-speedup", "0,55,60,65,70,75"]))

    def test_profile_of_all_units_leaves_the_choice_to_coz(self):
        self.coz.text = lambda _output: "the report"
        told = list(Measurement(Fake(line_options=("--unit=file",)), self.coz, Effort(3, 2, 10, False), self.said.append)
                    .all_units([False]))
        self.assertEqual(told, ["fake, nobody, load beside: 45 requests/s\nthe report"])
        self.assertEqual(self.coz.runs, [(BEFORE, 10, False, ["--unit=file"])])

    def test_bare_only_never_asks_coz(self):
        row, = self.rows(Fake(), [True], bare_only=True)
        self.assertEqual(self.coz.runs, [])
        self.assertEqual(row.bare.value, 100)
        self.assertIsNone(row.real)

    def test_failure_of_one_way_leaves_the_other(self):
        def run(_server, _variant, _seconds, followed, _output, options):
            if followed and options != ["--unit=function", "--fixed-speedup=0"]:
                raise processes.Failed("it broke")
            return 90
        self.coz.run = run
        followed, beside = self.rows(Fake(), [True, False])
        self.assertEqual((followed.failure, beside.failure), ("it broke", ""))
        self.assertIsNotNone(followed.real)

    def test_change_that_makes_nothing_cheaper_is_a_failure(self):
        with mock.patch("measure.under_coz.unit_ns_per_visit", lambda *_: 40e3):
            row, = self.rows(Fake(), [True])
        self.assertIn("does not make work cheaper", row.failure)

    def test_each_profile_has_a_file_of_its_own(self):
        one = Measurement(Fake(), self.coz, None, None)
        files = {one._profile(what, way) for what in ("sampled", "predicted") for way in (True, False, None)}
        self.assertEqual(len(files), 6)
        self.assertEqual({file.parent for file in files}, {pathlib.Path("/nowhere/fake")})


if __name__ == "__main__":
    unittest.main()
