#!/usr/bin/env python3
import os
import pathlib
import tempfile
import unittest

import processes
import quota


class QuotaTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def test_second_version_has_one_hierarchy(self):
        with quota.Cgroup(1.5, self.root):
            made, = self.root.glob("coz_servers_*")
            self.assertEqual((made / "cpu.max").read_text(), "150000 100000")
            self.assertEqual((made / "cgroup.procs").read_text(), str(os.getpid()))
        self.assertEqual((self.root / "cgroup.procs").read_text(), str(os.getpid()))

    def test_first_version_has_two(self):
        for hierarchy in ("cpu", "cpuacct"):
            (self.root / hierarchy).mkdir()
        with quota.Cgroup(0.5, self.root):
            made, = self.root.glob("cpu/coz_servers_*")
            self.assertEqual((made / "cpu.cfs_quota_us").read_text(), "50000")
            self.assertEqual(len(list(self.root.glob("cpuacct/coz_servers_*/cgroup.procs"))), 1)

    def test_no_quota_changes_nothing(self):
        with quota.Cgroup(0, self.root):
            self.assertEqual(list(self.root.iterdir()), [])

    def test_says_what_it_may_not_do(self):
        with self.assertRaisesRegex(processes.Failed, "run this as root"):
            with quota.Cgroup(1, self.root / "missing"):
                pass


if __name__ == "__main__":
    unittest.main()
