"""LevelDB's db_bench, unmodified, with four threads that write batches of 1,000 into fresh databases. The change is the
CPU's own CRC32C instruction."""
import math
import os
import re
import shutil

import processes
from server import BEFORE, Server

_THREADS = 4
_FIRST_WRITES = 50_000       # of each thread, to know how many there are in a second
_LARGEST_WRITES = 2_000_000  # of each thread in one database
_ENDLESS_DATABASES = 1000    # more than are filled in a day


def rate_of_db_bench(output):
    """Writes or reads a second of all threads: db_bench prints a thread's mean time for one, for each database."""
    times_us = [float(text) for text in re.findall(r"(?:fillbatch|readrandom)\s*:\s*([\d.]+) micros/op", output)]
    if not times_us:
        raise processes.Failed("db_bench told no time for a write or read but: %s" % output.strip()[-300:])
    return _THREADS * 1e6 * len(times_us) / sum(times_us)


class Leveldb(Server):
    name = "leveldb"
    program = "leveldb"
    binary = "%/db_bench%"
    unit = "leveldb::crc32c::Extend"
    counted_with = ("leveldb::port::AcceleratedCRC32C",)
    point = "leveldb::DBImpl::Write"
    point_options = ("--progress=leveldb::DBImpl::Write",)
    change = "CRC32C by the CPU's instruction"
    kind = "code"
    load = "db_bench itself, %d threads" % _THREADS
    asks_itself = True

    def build(self):
        super().build()
        self._fill(BEFORE, _FIRST_WRITES, 1)

    def drive(self, variant, seconds):
        """db_bench ends after a number of writes: so many as take about so long."""
        known = rate_of_db_bench((self.folder / "first.log").read_text()) / _THREADS
        writes = max(_FIRST_WRITES, round(known * seconds))
        databases = math.ceil(writes / _LARGEST_WRITES)
        return rate_of_db_bench(self._fill(variant, writes // databases, databases, seconds))

    def command(self, variant):
        """Writes until it is ended."""
        return self._command(variant, _LARGEST_WRITES, _ENDLESS_DATABASES)

    def is_ready(self):
        return True

    def clean(self):
        shutil.rmtree(self._database(), ignore_errors=True)

    def _fill(self, variant, writes, databases, seconds=None):
        database = self._database()
        shutil.rmtree(database, ignore_errors=True)
        try:
            output = self.run_load(self._command(variant, writes, databases), 10 * (seconds or 10))
        finally:
            shutil.rmtree(database, ignore_errors=True)
        if seconds is None:
            (self.folder / "first.log").write_text(output)
        return output

    def _command(self, variant, writes, databases):
        program = self.folder / ("db_bench" if variant == BEFORE else "db_bench_sse")
        return [program, "--benchmarks=" + ",".join(["fillbatch"] * databases), "--num=%d" % writes, "--threads=%d" % _THREADS,
                "--db=%s" % self._database()]

    def _database(self):
        """In memory where it has room: a disk that others use is not the same from one run to the next."""
        memory = os.statvfs("/dev/shm") if os.path.isdir("/dev/shm") else None
        if memory and memory.f_bavail * memory.f_frsize > 4e9:
            return "/dev/shm/coz-servers-leveldb-%d" % self.port
        return self.folder / "db"
