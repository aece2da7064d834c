"""LevelDB's db_bench with four threads that read random keys. Tables are read by pread() from the disk: most blocks are
not in LevelDB's cache, and none are in the page cache. The wait for a block is coz's unit.

The change lets the page cache have them or, without other work for the CPU than before, makes a slow disk as fast as this one.
"""
from leveldb_server import rate_of_db_bench
from server import AFTER, BEFORE, Server

_THREADS = 4
_ENTRIES = 2_000_000     # 125 MB
_FIRST_READS = 10_000    # of each thread, to know how many there are in a second
_SLOWER_US = 300


class LeveldbDisk(Server):
    program = "leveldb"
    binary = "%/db_bench%"
    unit = "reads"
    unit_options = ("--unit=wait", "--group", "reads=%PosixRandomAccessFile::Read")
    line_options = ("--unit=wait",)
    point = "leveldb::DBImpl::Get"
    point_options = ("--progress=leveldb::DBImpl::Get",)
    load = "db_bench itself, %d threads" % _THREADS
    asks_itself = True

    def build(self):
        super().build()
        if not (self.folder / "disk/filled").exists():
            self._bench("--benchmarks=fillseq")
            (self.folder / "disk/filled").touch()
        for variant in (BEFORE, AFTER):
            self._first(variant).write_text(self._read(variant, _FIRST_READS))

    def environment(self, variant):
        raise NotImplementedError

    def drive(self, variant, seconds):
        """db_bench ends after a number of reads: so many as take about so long."""
        known = rate_of_db_bench(self._first(variant).read_text()) / _THREADS
        return rate_of_db_bench(self._read(variant, round(known * seconds), seconds))

    def _first(self, variant):
        return self.folder / ("%s-first-%s.log" % (self.name, variant))

    def _read(self, variant, reads, seconds=10):
        return self._bench("--benchmarks=readrandom", "--use_existing_db=1", "--threads=%d" % _THREADS, "--reads=%d" % reads,
                           seconds=seconds, **self.environment(variant))

    def _bench(self, *options, seconds=10, **environment):
        return self.run_load(self.preloaded_behind(self.folder / "disk_reads.so", [
            self.folder / "db_bench_pread", "--db=%s" % (self.folder / "disk"), "--num=%d" % _ENTRIES, *options], **environment),
            10 * seconds)


class LeveldbCold(LeveldbDisk):
    name = "leveldb-cold"
    change = "blocks are in the page cache"
    kind = "knob"

    def environment(self, variant):
        return {"DISK_READS": int(variant == BEFORE)}


class LeveldbSlowDisk(LeveldbDisk):
    name = "leveldb-slow-disk"
    change = "each pread() takes %d us less" % _SLOWER_US
    kind = "artificial"

    def environment(self, variant):
        return {"DISK_READS": 1, "SLOW_READ_US": _SLOWER_US if variant == BEFORE else 0}
