#!/usr/bin/env python3
"""Tests of by_experiment.py."""
import unittest

import by_experiment
import processes

_SCRIPT = """
 postgres  100.050000:     7f00 send (/usr/lib/slow_send.so)
 postgres  100.150000:     7f00 spin (/usr/lib/libcoz.so)
 pgbench  100.160000:     ffff do_syscall_64 ([kernel.kallsyms])
 swapper  100.250000:     ffff idle ([kernel.kallsyms])
 coz  100.260000:     5500 main (/usr/bin/coz)
 postgres: worker  100.310000:     7f00 send (/usr/lib/slow_send.so)
"""


def experiment(start_s, virtual_speedup, visits):
    return {"start_s": start_s, "elapsed_s": 0.1, "virtual_speedup": virtual_speedup, "visits": visits}


class ByExperimentTest(unittest.TestCase):
    def test_samples_have_time_and_kind(self):
        self.assertEqual(by_experiment.samples_of(_SCRIPT, ["postgres", "pgbench"]),
                         [(100.05, "postgres, user"), (100.15, "runtime and pauses"), (100.16, "pgbench, kernel"), (100.25, "idle"),
                          (100.26, "other programs, coz too"), (100.31, "other programs, coz too")])

    def test_cpu_time_is_shared_out_by_samples(self):
        samples = [(0.0, "a"), (1.01, "a"), (1.02, "b"), (2.01, "a"), (9.0, "a")]
        baselines, experiments = by_experiment.by_experiment(samples, [experiment(1.0, 0, 100), experiment(2.0, 0.5, 50)], 2)
        self.assertAlmostEqual(baselines["a"], 1000)  # of 2 CPUs for 100 ms, half, for 100 visits
        self.assertAlmostEqual(baselines["b"], 1000)
        self.assertAlmostEqual(experiments["a"], 4000)
        self.assertNotIn("b", experiments)

    def test_experiments_that_perf_has_not_seen_whole_are_left_out(self):
        samples = [(1.05, "a"), (2.01, "a"), (2.02, "b"), (3.01, "a"), (3.5, "a")]
        cut = [experiment(1.0, 0, 100), experiment(3.45, 0.5, 100)]
        baselines, experiments = by_experiment.by_experiment(samples, [*cut, experiment(2.0, 0, 100), experiment(3.0, 0.5, 100)], 2)
        self.assertAlmostEqual(baselines["a"], 1000)
        self.assertAlmostEqual(experiments["a"], 2000)

    def test_nothing_in_common_is_said(self):
        with self.assertRaises(processes.Failed):
            by_experiment.by_experiment([(1.0, "a")], [experiment(5.0, 0, 100)], 2)

    def test_the_beginning_is_left_out(self):
        rows = [{"start_unix_ms": at_ms} for at_ms in (5000, 5900, 6000, 7000)]
        self.assertEqual([row["start_unix_ms"] for row in by_experiment.later_than(rows, 1)], [6000, 7000])
        self.assertEqual(by_experiment.later_than([], 1), [])

    def test_pauses_that_are_due_are_the_delay_of_each_cpu_less_what_it_imposed(self):
        one = {**experiment(1.0, 0.5, 100), "delay_s": 0.04, "imposed_s": 0.06, "pause_cpu_s": 0.03}
        due, taken = by_experiment.pauses_of([one, {**one, "virtual_speedup": 0}], 2)
        self.assertAlmostEqual(due, 0.2)
        self.assertAlmostEqual(taken, 0.3)

    def test_table_has_a_row_for_each_kind(self):
        self.assertEqual(by_experiment.table({"a": 1, "b": 2}, {"a": 3}).splitlines()[2:],
                         ["| b | 2.0 | 0.0 |", "| a | 1.0 | 3.0 |"])


if __name__ == "__main__":
    unittest.main()
