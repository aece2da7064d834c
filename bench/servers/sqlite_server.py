"""SQLite in two threads, each with a database in memory (sqlite/driver.c). The change is to compile out the statistics of
SQLite's allocator, and with them most calls of the mutex functions."""
import os

import processes
from server import BEFORE, HERE, Server, figure

_THREADS = 2
# What the change does away with, wholly or mostly.
_STATISTICS = ("sqlite3_mutex_enter", "sqlite3_mutex_leave", "pthreadMutexEnter", "pthreadMutexLeave", "sqlite3StatusUp",
               "sqlite3StatusDown", "sqlite3StatusHighwater", "sqlite3MemSize", "sqlite3_free")


class Sqlite(Server):
    name = "sqlite"
    program = "sqlite"
    binary = "%/driver"
    unit = "statistics"
    unit_options = ("--unit=function", *(option for name in _STATISTICS for option in ("--group", "statistics=" + name)))
    busy_cpus = min(os.cpu_count(), _THREADS)
    point = "transactions"
    change = "memory statistics compiled out"
    kind = "code"
    load = "the program itself, %d threads" % _THREADS
    asks_itself = True

    def build(self):
        super().build()
        processes.run([HERE / "sqlite/build.sh", self.folder / "no-memstatus", "-DSQLITE_DEFAULT_MEMSTATUS=0"], 1200,
                      self.base / "sqlite-build-after.log")

    def drive(self, variant, seconds):
        program = self.folder / ("driver" if variant == BEFORE else "no-memstatus/driver")
        return figure(r"^([\d.]+) transactions per second", self.run_load([program, _THREADS, seconds], seconds))
