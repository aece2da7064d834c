#!/usr/bin/env python3
import os
import pathlib
import signal
import tempfile
import time
import unittest

import processes


def lives(pid):
    """Whether it runs; one that has ended and waits for its parent does not."""
    try:
        return pathlib.Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):  # the second: it ended after open(2)
        return False


class ProcessesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.log = self.folder / "log"

    def test_run_returns_output_and_errors(self):
        self.assertEqual(processes.run(["sh", "-c", "echo one; echo two >&2"], 60, self.log), "one\ntwo\n")

    def test_failure_names_status_and_log(self):
        with self.assertRaisesRegex(processes.Failed, "status 3; read .*/log"):
            processes.run(["sh", "-c", "exit 3"], 60, self.log)

    def test_program_beyond_its_limit_is_ended(self):
        with self.assertRaisesRegex(processes.Failed, "more than 0 s"):
            processes.run(["sleep", "1000"], 0.1, self.log)

    def child_of(self, script):
        process = processes.start(["sh", "-c", script], self.log)
        processes.wait_until(lambda: self.log.read_text().endswith("\n"), 60, "the child's number")
        return process, int(self.log.read_text())

    def test_descendants_are_told_without_those_of_the_same_program(self):
        process, child = self.child_of("sh -c 'sleep 1000 & echo $!; wait' & wait")
        try:
            # A child runs its parent's program up to its exec(2), which may come after its number.
            processes.wait_until(lambda: pathlib.Path("/proc/%d/comm" % child).read_text() == "sleep\n", 60, "its exec")
            self.assertEqual(processes.descendants(process.pid), [child])
        finally:
            processes.end(process, signal.SIGTERM, 60)

    def test_cpu_time_is_the_whole_processs(self):
        before = time.process_time()
        times = processes.cpu_times([os.getpid(), (1 << 22) + 1])  # the kernel has no such number
        after = time.process_time()
        self.assertEqual(list(times), [os.getpid()])
        self.assertLessEqual(before, times[os.getpid()])
        self.assertLessEqual(times[os.getpid()], after)

    def test_ended_program_leaves_no_child(self):
        process, child = self.child_of("sleep 1000 & echo $!; wait")
        self.assertTrue(lives(child))
        processes.end(process, signal.SIGTERM, 60)
        processes.wait_until(lambda: not lives(child), 60, "the child's end")

    def test_all_ends_what_was_started(self):
        process, child = self.child_of("trap '' TERM; sleep 1000 & echo $!; wait")
        processes.end_all()
        self.assertEqual(process.wait(60), -signal.SIGKILL)
        processes.wait_until(lambda: not lives(child), 60, "the child's end")

    def test_program_that_ignores_the_signal_is_killed(self):
        process, _ = self.child_of("trap '' TERM; echo 1; while :; do sleep 1000; done")
        processes.end(process, signal.SIGTERM, 0.1)
        self.assertEqual(process.returncode, -signal.SIGKILL)

    def test_waiting_in_vain_is_a_failure(self):
        with self.assertRaisesRegex(processes.Failed, "the moon has not happened"):
            processes.wait_until(lambda: False, 0.05, "the moon")


if __name__ == "__main__":
    unittest.main()
