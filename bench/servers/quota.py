"""A cgroup with a CPU quota, as a container has it."""
import os
import pathlib

import processes

_PERIOD_US = 100_000


class Cgroup:
    """This process and all that it starts are within, as long as the context lasts. `cpus` 0: no quota.

    `root` is where cgroups are mounted, as of v2, or of v1 with the hierarchies cpu and cpuacct.
    """

    def __init__(self, cpus, root="/sys/fs/cgroup"):
        self._cpus = cpus
        self._root = pathlib.Path(root)
        self._folders = []

    def __enter__(self):
        if not self._cpus:
            return self
        quota = str(round(self._cpus * _PERIOD_US))
        try:
            if (self._root / "cpu").is_dir():
                self._make("cpu", "cpu.cfs_quota_us", quota)
                self._make("cpuacct", None, None)
            else:
                self._make("", "cpu.max", "%s %d" % (quota, _PERIOD_US))
            for folder in self._folders:
                _move_to(folder)
        except OSError as error:
            self.__exit__()
            raise processes.Failed("no cgroup with a quota was made: %s; run this as root" % error) from None
        return self

    def __exit__(self, *_):
        for folder in self._folders:
            _move_to(folder.parent)
            try:
                folder.rmdir()
            except OSError:  # a program that is about to end is still within
                pass
        self._folders = []

    def _make(self, hierarchy, file, quota):
        folder = self._root / hierarchy / ("coz_servers_%d" % os.getpid())
        folder.mkdir()
        self._folders.append(folder)
        if file:
            (folder / file).write_text(quota)


def _move_to(folder):
    (folder / "cgroup.procs").write_text(str(os.getpid()))
