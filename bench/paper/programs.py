"""The programs of the paper's table, in its order, and the example of its introduction."""
import os
import re
import shutil
import subprocess
import sys

import inputs

from parsec import Edit, mark
from program import AFTER, BEFORE, FLAGS, HERE, ORIGINAL, Program
from other_benches import SERVERS, processes, under_coz

# A barrier of PARSEC's own: the change puts pthread's in its place, under the same name.
_OWN_BARRIER = r'#include "parsec_barrier\.hpp"'
_PTHREAD_BARRIER = ("#include <pthread.h>\n"
                    "static int __attribute__((noinline)) parsec_barrier_wait(pthread_barrier_t* barrier) "
                    "{ return pthread_barrier_wait(barrier); }\n"
                    "#define pthread_barrier_wait(barrier) parsec_barrier_wait(barrier)")
_SETTLE_LIMIT_S = 300
_MANY = 8  # threads, where the paper has 64 for as many CPUs


class TwoThreads(Program):
    name = "two threads"
    files = ("two_threads.c",)
    point = "rounds"
    unit = "a"
    patterns = ("a",)
    named = r"two_threads\.c:\d+ (a|b)\b"
    change = "a takes a twentieth less"
    paper_line = "the loop of a; b's is as good"
    paper_gain = "4.5 % at most"

    def prepare(self, place):
        (place / "two_threads.c").write_bytes((HERE / "two_threads.c").read_bytes())

    def arguments(self, variant):
        return 900, 10000000 if variant != AFTER else 9500000, 9500000


class Dedup(Program):
    name = "dedup"
    packages = ("zlib1g-dev",)
    sources = "pkgs/kernels/dedup/src"
    files = tuple("%s.c" % part for part in ("hashtable", "util", "dedup", "rabin", "encoder", "decoder", "mbuffer", "sha", "queue",
                                             "binheap", "tree"))
    flags = ("-I.", "-DENABLE_GZIP_COMPRESSION", "-DENABLE_PTHREADS", "-fno-strict-aliasing", "-D_GNU_SOURCE", "-fcommon")
    libraries = ("-lm", "-lz")
    marks = mark("encoder.c", r"^void sub_Compress\(chunk_t \*chunk\) \{$", "blocks")
    # PARSEC takes the first word of the key by now.
    changes = {BEFORE: (Edit("encoder.c", r"  return \(\(unsigned int \*\)k\)\[0\];",
                             "  unsigned int sum = 0; int i;\n"
                             "  for (i = 0; i < SHA1_LEN; i++) sum += ((unsigned char *)k)[i];\n  return sum;"),)}
    point = "blocks"
    unit = "search"
    patterns = ("hashtable_search", "hash_from_key_fn", "keys_equal_fn")
    named = r"hashtable\.c:\d+ hashtable_search\b"
    change = "the hash is a part of the key, and no sum of its bytes"
    paper_line = "hashtable.c:217, the walk along a chain"
    paper_gain = "9.0 % (± 0.2)"
    _INPUT_MB = 1600

    def make_inputs(self):
        if not (self.folder / "input").exists():
            inputs.blocks(self.folder / "input", self._INPUT_MB, 0.2)

    def arguments(self, _variant):
        return "-c", "-p", "-t", 2, "-i", self.folder / "input", "-o", "/dev/null", "-w", "none"


class Ferret(Program):
    name = "ferret"
    packages = ("libgsl-dev", "libjpeg-dev", "libjpeg-turbo-progs")
    sources = "pkgs/apps/ferret/src"
    files = ("benchmark/ferret-pthreads.c", "src/*.c", "src/lsh/*.c", "image/image.c", "image/srm.c", "image/extract.c", "image/edge.c")
    flags = ("-Iinclude", "-DENABLE_PTHREADS", "-DHUGE=HUGE_VALF", "-fcommon", "-D_GNU_SOURCE")
    libraries = ("-lm", "-lgsl", "-lgslcblas", "-ljpeg")
    marks = (*mark("benchmark/ferret-pthreads.c", r"^\t\tcnt_dequeue\+\+;$", "queries"),
             # PARSEC's own files are only read.
             Edit("include/cass_file.h", r"assert\(0\);\s*return -1;", "return fwrite(buf, sizeof *buf, nmemb, out);", 3),
             Edit("benchmark/ferret-pthreads.c", r"NTHREAD_RANK = atoi\(argv\[6\]\);",
                  'NTHREAD_RANK = getenv("RANK_THREADS") ? atoi(getenv("RANK_THREADS")) : atoi(argv[6]);'))
    point = "queries"
    unit = "ranking"
    patterns = ("emd.c", "dist.c", "raw.c", "cass_dist.h")
    named = r"(emd\.c|dist\.c|raw\.c|cass_dist\.h):\d+ "
    change = "two threads rank, and not one"
    unlike = "the second thread needs a CPU of its own, and a faster line needs none"
    paper_line = "lines of the ranking stage"
    paper_gain = "21.3 % (± 0.5)"
    _DIMENSIONS = 14  # of its images
    _IMAGES, _REGIONS, _QUERIES, _SIDE = 4000, 8, 400, 96

    def make_inputs(self):
        if (self.folder / "queries").exists():
            return
        place = self.folder / BEFORE
        for tool in ("init", "add_vec_dist", "add_vecset_dist", "add_cfg", "add_map", "add_table", "import", "add_index"):
            self.compile(place, BEFORE, ["gcc", "tools/cass_%s.c" % tool, "src/*.c", "src/lsh/*.c", "-lm", "-lgsl", "-lgslcblas"],
                         "cass_" + tool)
        database = self.folder / "corel"
        database.mkdir(exist_ok=True)
        inputs.features(self.folder / "corel.txt", self._IMAGES, self._REGIONS, self._DIMENSIONS)
        for tool, *words in (("init",), ("add_vec_dist", "L2_float", "L2_float", ""), ("add_vecset_dist", "emd", "emd", ""),
                             ("add_cfg", "cfg_corel", "2", "float", str(self._DIMENSIONS)), ("add_map", "map_corel", "indirect"),
                             ("add_table", "corel", "cfg_corel", "map_corel"), ("import", "corel", self.folder / "corel.txt"),
                             ("add_index", "corel", "lsh", "-L 8 -M 10 -w 4.0708 -H 997 -recall", "lsh")):
            processes.run([place / ("cass_" + tool), database, *words], 300, self.folder / ("cass_%s.log" % tool))
        making = self.folder / "queries.new"
        making.mkdir(exist_ok=True)
        for number in range(self._QUERIES):
            inputs.picture(making / "picture.ppm", self._SIDE, number)
            processes.run(["cjpeg", "-outfile", making / ("%d.jpg" % number), making / "picture.ppm"], 60, self.folder / "cjpeg.log")
        (making / "picture.ppm").unlink()
        making.rename(self.folder / "queries")

    def arguments(self, _variant):
        return self.folder / "corel", "lsh", self.folder / "queries", 50, 20, 1, "/dev/null"

    def environment(self, variant):
        return {"RANK_THREADS": "2" if variant == AFTER else "1"}


class Fluidanimate(Program):
    name = "fluidanimate"
    sources = "pkgs/apps/fluidanimate/src"
    compiler = "g++"
    files = ("pthreads.cpp", "cellpool.cpp", "parsec_barrier.cpp")
    flags = ("-I.", "-D_GNU_SOURCE")
    marks = mark("pthreads.cpp", r"^void AdvanceFrameMT\(int tid\)\s*\{$", "frames")
    changes = {AFTER: (Edit("pthreads.cpp", _OWN_BARRIER, _PTHREAD_BARRIER),)}
    point = "frames"
    unit = "barrier"
    patterns = ("parsec_barrier_wait",)
    named = r"parsec_barrier\.cpp:"
    change = "pthread's barrier"
    unlike = "the barrier waits by spinning: what it spins for does not come sooner when it spins faster"
    spins = True
    paper_line = "parsec_barrier.cpp:163, spinning at a barrier"
    paper_gain = "37.5 % (± 0.6)"

    def make_inputs(self):
        """Steps get longer while the fluid falls. So runs begin with what the program writes when it lies."""
        inputs.fluid(self.folder / "particles", 204, 20000)
        settled = self.folder / "settled"
        if not settled.exists():
            processes.run([self.folder / BEFORE / "program", str(_MANY), "700", self.folder / "particles", settled], _SETTLE_LIMIT_S,
                          self.folder / "settle.log", cwd=self.folder)

    def arguments(self, _variant):
        return _MANY, 250, self.folder / "settled"


class Streamcluster(Program):
    name = "streamcluster"
    sources = "pkgs/kernels/streamcluster/src"
    compiler = "g++"
    files = ("streamcluster.cpp", "parsec_barrier.cpp")
    flags = ("-I.", "-DENABLE_THREADS", "-D_GNU_SOURCE")
    marks = mark("streamcluster.cpp", r"^double pgain\([^)]*pthread_barrier_t\* barrier\)\s*\{$", "steps")
    changes = {AFTER: (Edit("streamcluster.cpp", _OWN_BARRIER, _PTHREAD_BARRIER),)}
    point = "steps"
    unit = "barrier"
    patterns = ("parsec_barrier_wait",)
    named = r"parsec_barrier\.cpp:"
    change = "pthread's barrier"
    unlike = "the barrier waits by spinning: what it spins for does not come sooner when it spins faster"
    spins = True
    paper_line = "parsec_barrier.cpp:163, spinning at a barrier"
    paper_gain = "68.4 % (± 1.1)"

    def arguments(self, _variant):
        return 10, 20, 32, 8192, 4096, 1000, "none", "/dev/null", _MANY


class Swaptions(Program):
    name = "swaptions"
    sources = "pkgs/apps/swaptions/src"
    compiler = "g++"
    files = tuple("%s.cpp" % part for part in ("CumNormalInv", "MaxFunction", "RanUnif", "icdf", "HJM_SimPath_Forward_Blocking", "HJM",
                                               "HJM_Swaption_Blocking", "HJM_Securities")) + ("nr_routines.c",)
    flags = ("-fpermissive", "-DENABLE_THREADS", "-D_GNU_SOURCE")
    marks = mark("HJM_SimPath_Forward_Blocking.cpp", r"^int HJM_SimPath_Forward_Blocking\(.*?^\{", "paths")
    # The innermost loop goes through memory in order.
    changes = {AFTER: (
        Edit("HJM_SimPath_Forward_Blocking.cpp",
             r"(?P<b>for\(int b=0; b<BLOCKSIZE; b\+\+\)\{ // b is the blocks\s*)(?P<j>for \(j=1;j<=iN-1;\+\+j\) \{// j is the timestep\s*)"
             r"(?P<l>for \(l=0;l<=iN-\(j\+1\);\+\+l\)\{)", r"\g<j>\g<l> \g<b>"),)}
    point = "paths"
    unit = "path"
    patterns = ("HJM_SimPath_Forward_Blocking",)
    named = r"HJM_SimPath_Forward_Blocking\.cpp:"
    change = "loops in the order of memory"
    paper_line = "HJM_SimPath_Forward_Blocking.cpp:154, a nested loop over a matrix"
    paper_gain = "15.8 % (± 1.1)"

    def arguments(self, _variant):
        return "-ns", 280, "-sm", 20000, "-nt", 2


class Blackscholes(Program):
    name = "blackscholes"
    packages = ("m4",)
    sources = "pkgs/apps/blackscholes/src"
    files = ("expanded.c",)
    flags = ("-DENABLE_THREADS", "-D_GNU_SOURCE")
    libraries = ("-lm",)
    marks = (*mark("blackscholes.c", r"^    for \(j=0; j<NUM_RUNS; j\+\+\) \{(?=\n#ifdef ENABLE_OPENMP)", "runs"),
             Edit("blackscholes.c", r"^#define NUM_RUNS \d+", "#define NUM_RUNS 2200"))
    # One polynomial, and no powers.
    changes = {AFTER: (
        Edit("blackscholes.c", r"    xK2_2 = xK2 \* xK2;.*?    xLocal   = xLocal_1 \* xNPrimeofX;",
             "    xLocal = xK2 * (0.319381530 + xK2 * (-0.356563782 + xK2 * (1.781477937 + xK2 * (-1.821255978 + "
             "xK2 * 1.330274429)))) * xNPrimeofX;"),)}
    point = "runs"
    # A price is CNDF twice and what is done with both: the CPU waits there for what CNDF has begun.
    unit = "price"
    patterns = ("CNDF", "BlkSchlsEqEuroNoDiv")
    named = r"blackscholes\.c:\d+ (CNDF|BlkSchlsEqEuroNoDiv)\b"
    change = "common subexpressions of CNDF"
    paper_line = "blackscholes.c:259, the price of one option"
    paper_gain = "2.6 % (± 0.4)"

    def prepare(self, place):
        expanded = subprocess.run(["m4", "c.m4.pthreads", "blackscholes.c"], cwd=place, capture_output=True, check=True).stdout
        (place / "expanded.c").write_bytes(b'#line 1 "blackscholes.c"\n' + expanded)

    def make_inputs(self):
        inputs.options(self.folder / "options", 65536)

    def arguments(self, _variant):
        return 2, self.folder / "options", "/dev/null"


class Memcached(Program):
    """The server and the load of bench/servers: each run is a session."""
    name = "memcached"
    packages = ("libevent-dev",)
    coz_options = ("--follow=all", "-b", "%/memcached")
    point = "requests"
    unit = "item locks"
    # The compiler puts the lock and the hash that finds it into their callers, of which item_remove is one.
    patterns = ("item_remove", "do_item_remove", "item_lock", "item_unlock", "MurmurHash3_x86_32", "fmix32", "rotl32", "getblock32")
    named = r"thread\.c:\d+ (item_remove|item_lock|item_unlock)\b"
    cost_s = 60          # of some 2 % of its CPU time
    change = "no lock for a reference that is not the last"
    paper_line = "the start of item_remove, which takes a lock to give a reference back"
    paper_gain = "9.4 % (± 1.0)"
    _SECONDS = 6
    # Its counts were atomic at the time of the paper, so that no lock was needed. Today who counts holds the lock. The last
    # reference is still given back with the lock, since others count what they have found and not taken.
    changes = {AFTER: (
        Edit("memcached.h", r"\+\+\(it->refcount\)$", "__atomic_add_fetch(&(it)->refcount, 1, __ATOMIC_SEQ_CST)"),
        Edit("memcached.h", r"--\(it->refcount\)$", "__atomic_sub_fetch(&(it)->refcount, 1, __ATOMIC_SEQ_CST)"),
        Edit("thread.c", r"^void item_remove\(item \*item\) \{\n",
             "\\g<0>    unsigned short count = __atomic_load_n(&item->refcount, __ATOMIC_RELAXED);\n"
             "    while (count > 1) {\n"
             "        if (__atomic_compare_exchange_n(&item->refcount, &count, count - 1, 1, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) return;\n"
             "    }\n"))}

    def _build(self, variant):
        place = self.folder / variant
        source = place / "memcached"
        log = self.folder / ("%s-build.log" % variant)
        if not (source / "built").exists():
            shutil.rmtree(source, ignore_errors=True)  # a build that was cut short may have been edited
            place.mkdir(parents=True, exist_ok=True)
            if variant != BEFORE:  # which has fetched it
                for archive in (self.folder / BEFORE).glob("memcached_*.orig.tar.*"):
                    shutil.copy(archive, place)
            processes.run([SERVERS / "debian_source.sh", place, "memcached"], 600, log)
            for edit in self.changes.get(variant, ()):
                edit.apply(source)
        header = {"COZ_H": str(self.peer.parents[1] / "include")} if variant == ORIGINAL else {}
        processes.run([SERVERS / "memcached/build.sh", place, *FLAGS[variant]], 600, log, env={**os.environ, **header})

    def command(self, variant):
        return [sys.executable, HERE / "memcached_session.py", self.folder / variant, str(self._SECONDS)]

    def line(self, variant, prefix):
        # The original profiles every process that is started below it, and ends one that has no debug information.
        return [*self.command(variant), *prefix] if variant == ORIGINAL else super().line(variant, prefix)

    def rate(self, output):
        return under_coz.rate_of_session(output)


class Sqlite(Program):
    """The load of bench/servers."""
    name = "sqlite"
    unit = "through tables"
    patterns = ("sqlite3_mutex_enter", "sqlite3_mutex_leave", "sqlite3MallocSize", "sqlite3PcacheFetch")
    point = "transactions"
    named = r"sqlite3\.c:\d+ (sqlite3_mutex_enter|sqlite3_mutex_leave|sqlite3MallocSize|sqlite3PcacheFetch|pthreadMutexLeave|pthreadMutexEnter|pcache1Fetch\w*|sqlite3MemSize)\b"
    change = "direct calls, and not by tables of functions"
    unlike = "the compiler puts the functions into their callers, so their cost after the change is not known"
    paper_line = "sqlite3MemSize, pthreadMutexLeave, pcache1Fetch: called by tables"
    paper_gain = "25.6 % (± 1.0)"
    _SECONDS = 6
    _DIRECT = (Edit("sqlite3.c", r"^SQLITE_API void sqlite3_mutex_enter\(sqlite3_mutex \*p\)\{$",
                    "static void pthreadMutexEnter(sqlite3_mutex*);\nstatic void pthreadMutexLeave(sqlite3_mutex*);\n\\g<0>"),
               Edit("sqlite3.c", r"sqlite3GlobalConfig\.mutex\.xMutexEnter\(p\);", "pthreadMutexEnter(p);"),
               Edit("sqlite3.c", r"sqlite3GlobalConfig\.mutex\.xMutexLeave\(p\);", "pthreadMutexLeave(p);"),
               Edit("sqlite3.c", r"return sqlite3GlobalConfig\.m\.xSize\(\(void\*\)p\);", "return sqlite3MemSize((void*)p);", 2),
               Edit("sqlite3.c", r"^SQLITE_PRIVATE sqlite3_pcache_page \*sqlite3PcacheFetch\($",
                    "static sqlite3_pcache_page *pcache1Fetch(sqlite3_pcache*, unsigned int, int);\n\\g<0>"),
               Edit("sqlite3.c", r"(pRes|pResult) = sqlite3GlobalConfig\.pcache2\.xFetch\(pCache->pCache, ?pgno, ?eCreate\);",
                    "\\1 = pcache1Fetch(pCache->pCache, pgno, eCreate);"))

    def _build(self, variant):
        place = self.folder / variant
        environment = {}
        if variant == AFTER:
            changed = place / "sqlite3.c"
            if not changed.exists():
                place.mkdir(parents=True, exist_ok=True)
                changed.write_bytes((self.folder / BEFORE / "package/deps/sqlite3/sqlite3.c").read_bytes())
                for edit in self._DIRECT:
                    edit.apply(place)
            environment["SQLITE_C"] = str(changed)
        if variant == ORIGINAL:
            environment["COZ_H"] = str(self.peer.parents[1] / "include")
        processes.run([SERVERS / "sqlite/build.sh", place, *FLAGS[variant]], 600, self.folder.parent / "sqlite-build.log",
                      env={**os.environ, **environment})

    def command(self, variant):
        return [self.folder / variant / "driver", "2", str(self._SECONDS)]

    def rate(self, output):
        return float(re.search(r"^([\d.]+) transactions per second", output, re.M).group(1))


PROGRAMS = (Dedup, Ferret, Fluidanimate, Streamcluster, Swaptions, Blackscholes, Memcached, Sqlite, TwoThreads)


def chosen(names):
    """Those of `names`; all where there are none. ValueError for a name of none."""
    for name in names:
        if all(program.name != name for program in PROGRAMS):
            raise ValueError("no program is called %s; there are: %s" % (name, ", ".join(p.name for p in PROGRAMS)))
    return [program for program in PROGRAMS if not names or program.name in names]
