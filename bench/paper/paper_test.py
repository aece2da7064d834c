#!/usr/bin/env python3
import os
import pathlib
import socket
import struct
import subprocess
import tempfile
import threading
import unittest
from unittest import mock

import inputs
import measure_program
import memcached_session
import original
import paper_table
import parsec
import program
import programs
from other_benches import intervals, processes


class EditTest(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = pathlib.Path(place.name)
        (self.folder / "a.c").write_text("int f(int x) {\n  return x;\n}\n")

    def test_replaces_the_one_place(self):
        parsec.Edit("a.c", r"return (\w);", r"return 2 * \1;").apply(self.folder)
        self.assertIn("return 2 * x;", (self.folder / "a.c").read_text())

    def test_another_source_than_expected_is_refused(self):
        with self.assertRaisesRegex(processes.Failed, "0 match"):
            parsec.Edit("a.c", "double", "float").apply(self.folder)
        with self.assertRaisesRegex(processes.Failed, "2 match"):
            parsec.Edit("a.c", "int", "long").apply(self.folder)

    def test_a_mark_follows_its_place(self):
        for edit in parsec.mark("a.c", r"^int f\([^)]*\) \{", "calls"):
            edit.apply(self.folder)
        lines = (self.folder / "a.c").read_text().splitlines()
        self.assertEqual(lines[:3], ['#include "coz.h"', "int f(int x) {", 'COZ_PROGRESS_NAMED("calls");'])


class InputsTest(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.path = pathlib.Path(place.name) / "input"

    def test_fluid_lies_in_the_box(self):
        inputs.fluid(self.path, 204, 500)
        data = self.path.read_bytes()
        self.assertEqual(struct.unpack("<fi", data[:8]), (204, 500))
        self.assertEqual(len(data), 8 + 500 * 36)
        for x, y, z, *rest in struct.iter_unpack("<9f", data[8:]):
            self.assertTrue(abs(x) < 0.065 and -0.08 < y < 0.1 and abs(z) < 0.065)
            self.assertEqual(rest, [0] * 6)

    def test_more_fluid_than_the_box_holds_is_refused(self):
        with self.assertRaises(ValueError):
            inputs.fluid(self.path, 10, 500)

    def test_inputs_are_the_same_each_time(self):
        for make in (lambda: inputs.options(self.path, 100), lambda: inputs.blocks(self.path, 1, 0.2),
                     lambda: inputs.features(self.path, 10, 2, 14), lambda: inputs.picture(self.path, 16, 3)):
            make()
            first = self.path.read_bytes()
            make()
            self.assertEqual(first, self.path.read_bytes())

    def test_a_picture_has_as_many_pixels_as_it_says(self):
        inputs.picture(self.path, 16, 3)
        header = b"P6\n16 16\n255\n"
        self.assertEqual(self.path.read_bytes()[:len(header)], header)
        self.assertEqual(len(self.path.read_bytes()), len(header) + 3 * 16 * 16)


def line(unit, value, verdict="faster"):
    return {"unit": unit, "verdict": verdict, "slope": {"value": value, "low": value - 0.1, "high": value + 0.1}}


class RankTest(unittest.TestCase):
    report = {"units": [{"name": "/x/a.c:%d" % n, "function": "f%d" % n} for n in range(5)],
              "points": [{"name": "p", "lines": [line(0, 0.5), line(1, 0.2), line(2, 0.9, "cannot_tell"), line(3, -0.7, "slower"),
                                                 line(4, 0.8, "no_effect")]}]}

    def test_is_by_the_size_of_the_slope_of_lines_with_a_verdict(self):
        place, first, slope = measure_program.rank(self.report, "p", r"a\.c:\d+ f0\b")
        self.assertEqual((place, first, slope.value), (2, "a.c:3 f3", 0.5))

    def test_the_best_of_several_lines_counts(self):
        self.assertEqual(measure_program.rank(self.report, "p", r"a\.c:[01] ")[0], 2)

    def test_a_line_without_an_effect_or_a_verdict_has_no_place(self):
        for pattern in (r"a\.c:2 ", r"a\.c:4 "):
            self.assertEqual(measure_program.rank(self.report, "p", pattern), (None, "a.c:3 f3", None))

    def test_lines_that_spin_free_their_cpus(self):
        report = {"units": [{"name": "/x/a.c:1", "function": "wait", "spinning_samples": 5}, {"name": "/x/b.c:1", "function": "work"}],
                  "totals": {"freed_by_giving_up_cpus": 0.1}}
        self.assertEqual(measure_program.freed(report, r"a\.c:"), 0.1)
        self.assertIsNone(measure_program.freed(report, r"b\.c:"))
        report["totals"]["freed_by_giving_up_cpus"] = 0
        self.assertIsNone(measure_program.freed(report, r"a\.c:"))

    def test_a_profile_without_the_point_ranks_nothing(self):
        self.assertEqual(measure_program.rank(self.report, "q", "a"), (None, "", None))


class OriginalTest(unittest.TestCase):
    @staticmethod
    def rows(selected, gains):
        return "".join("experiment\tselected=%s\tspeedup=%.2f\tduration=%d\n" "throughput-point\tname=p\tdelta=%d\n" %
                       (selected, speedup, 1000000, round(1000 / (1 - gain))) for speedup, gain in gains)

    def test_ranks_lines_with_enough_speedups(self):
        text = (self.rows("/x/a.c:1", [(0, 0), (0.2, 0.02), (0.4, 0.04), (0.6, 0.06)]) +
                self.rows("/x/b.c:2", [(0, 0), (0.2, 0.1), (0.4, 0.2), (0.6, 0.3)]) + self.rows("/x/c.c:3", [(0, 0), (0.5, 0.1)]))
        found = original.lines(text)
        place, slope, _ = original.rank(found, r"a\.c:")
        self.assertEqual(place, 2)
        self.assertAlmostEqual(slope, 0.1, 2)
        self.assertIsNone(original.rank(found, r"c\.c:"))


class TableTest(unittest.TestCase):
    def test_names_what_failed(self):
        row = paper_table.Row(programs.Dedup("/x", None), failure="it ran for too long")
        self.assertIn("dedup: it ran for too long", paper_table.text([row]))
        self.assertIn("* dedup: it ran for too long", paper_table.markdown([row]))

    def test_a_line_that_spins_has_its_place_in_a_note(self):
        row = paper_table.Row(programs.Fluidanimate(pathlib.Path("/nowhere"), None), freed=0.087)
        self.assertIn("| in a note |  |  | some 9 % |", paper_table.markdown([row]))

    def test_says_why_nothing_is_predicted(self):
        row = paper_table.Row(programs.Ferret(pathlib.Path("/nowhere"), None))
        self.assertIn("* ferret: the second thread", paper_table.markdown([row]))

    def test_says_whether_intervals_meet(self):
        row = paper_table.Row(programs.Dedup("/x", None), real=intervals.Interval(0.1, 0.08, 0.12), share=0.9,
                              predicted=intervals.Interval(0.15, 0.13, 0.17), place=1)
        self.assertEqual(paper_table.cells(row)[3:9], ("1", "", "90 %", "15.0 % (13.0 to 17.0)", "10.0 % (8.0 to 12.0)", "no"))


class ProgramsTest(unittest.TestCase):
    def test_a_name_of_none_is_refused(self):
        with self.assertRaisesRegex(ValueError, "no program is called x"):
            programs.chosen(["x"])

    def test_region_is_found(self):
        self.assertEqual(program.region_s("PARSEC\nregion: 2.500000 s\n"), 2.5)
        with self.assertRaises(processes.Failed):
            program.region_s("PARSEC\n")

    def test_two_threads_run_with_our_mark(self):
        with tempfile.TemporaryDirectory() as folder:
            two = programs.TwoThreads(folder, None)
            two.folder.mkdir()
            two.build()
            two.arguments = lambda variant: (3, 1000, 1000)
            self.assertGreater(two.rate(two.run(program.BEFORE, [], 60, os.path.join(folder, "log"))), 0)


class MeasurementTest(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.program = programs.Memcached(place.name, None)
        self.program.folder.mkdir()
        self.measurement = measure_program.Measurement(self.program, "coz", 2, 30, lambda text: None)

    def test_a_profile_is_of_the_binary_and_the_runs_that_the_program_asks_for(self):
        with mock.patch.object(self.program, "run") as run, mock.patch("subprocess.run") as report:
            report.return_value.stdout = "{}"
            self.measurement._profile("ranked", program.BEFORE, 30, ["--unit=line"])
        words = run.call_args.args[1]
        self.assertEqual(words[4:], ["--follow=all", "-b", "%/memcached", "--repeat=6", "--unit=line", "---"])

    def test_costs_are_profiled_as_long_as_the_program_asks_for(self):
        asked = []

        def profile(_name, variant, seconds, _choices):
            asked.append(seconds)
            return {"points": [{"name": "requests", "visits": 1000}], "sessions": [{"sampling_period_ns": 1000}],
                    "units": [{"name": "item locks", "function": "", "samples": 40 if variant == program.BEFORE else 30}]}
        with mock.patch.object(self.measurement, "_profile", profile):
            self.assertEqual(self.measurement._share(), 0.25)
        self.assertEqual(asked, [self.program.cost_s] * 2)


# What memcached's sources have there, and a program that gives two references back.
_MEMCACHED_H = """typedef struct { unsigned short refcount; } item;
#define refcount_incr(it) ++(it->refcount)
#define refcount_decr(it) --(it->refcount)
"""
_THREAD_C = """#include "memcached.h"
#include <stdio.h>
static int locked;
void item_remove(item *item) {
    locked++;
    refcount_decr(item);
}
int main(void) {
    item two = {1};
    refcount_incr((&two));
    item_remove(&two);
    printf("%d %d, ", two.refcount, locked);
    item_remove(&two);
    printf("%d %d", two.refcount, locked);
}
"""


class MemcachedTest(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = pathlib.Path(place.name)

    def counts(self, variant):
        """References left and locks taken, after each of two references that were given back."""
        (self.folder / "memcached.h").write_text(_MEMCACHED_H)
        (self.folder / "thread.c").write_text(_THREAD_C)
        for edit in programs.Memcached.changes.get(variant, ()):
            edit.apply(self.folder)
        subprocess.run(["gcc", "-Wall", "-Werror", "thread.c", "-o", "thread"], cwd=self.folder, check=True)
        return subprocess.run([self.folder / "thread"], capture_output=True, text=True, check=True).stdout

    def test_only_the_last_reference_takes_the_lock_after_the_change(self):
        self.assertEqual(self.counts(program.BEFORE), "1 1, 0 2")
        self.assertEqual(self.counts(program.AFTER), "1 0, 0 1")

    def test_coz_follows_a_session_and_the_original_profiles_the_server_in_it(self):
        memcached = programs.Memcached("/x", None)
        session = memcached.command(program.BEFORE)
        self.assertEqual(memcached.line(program.BEFORE, ["coz", "---"]), ["coz", "---", *session])
        self.assertEqual(memcached.line(program.ORIGINAL, ["coz", "---"]), [*memcached.command(program.ORIGINAL), "coz", "---"])

    def test_rate_is_that_of_the_session(self):
        self.assertEqual(programs.Memcached("/x", None).rate("coz: note\nrequests per second: 12.5\n"), 12.5)

    def test_the_server_is_told_to_end_after_the_load_and_waited_for(self):
        told = []

        def serve():
            connection, _ = listening.accept()
            with connection:
                told.append(connection.recv(100))
        with socket.create_server(("127.0.0.1", 0)) as listening:
            listening.settimeout(60)
            serving = threading.Thread(target=serve)
            serving.start()
            memcached = memcached_session.Memcached(self.folder, listening.getsockname()[1])
            with mock.patch.object(memcached, "run_load", return_value="7.5 requests per second\n") as load, \
                 mock.patch.object(memcached, "is_ready", side_effect=[True, False]) as asked:
                self.assertEqual(memcached.drive("after", 2), 7.5)
            serving.join()
        self.assertEqual(told, [b"shutdown\r\n"])
        self.assertEqual(asked.call_count, 2)
        self.assertEqual(load.call_args.args[0][-2], 10_000)  # keys, before the number of threads
        self.assertIn("-A", memcached.command("after"))  # without it, it refuses to


if __name__ == "__main__":
    unittest.main()
