"""The programs whose verdicts are timed: how each is built, run, and run by the original."""
import dataclasses
import os
import pathlib
import subprocess
import sys

# `bazel run` starts in the folder of what was built.
ROOT = pathlib.Path.cwd()
_STUDY = ("pipeline", "mutex", "barrier", "thread_pool")
_ORIGINAL = ("coz-profiler", "libdwarf++0", "libelf++0")
# The original reads DWARF 4 without view numbers.
_FOR_ORIGINAL = ("-gdwarf-4", "-gno-variable-location-views")


@dataclasses.dataclass
class Subject:
    name: str
    command: list
    options: tuple = ()     # of coz run
    original: list = None   # what the original profiles; None: it has no progress point there
    scope: str = "%"        # source scope for the original
    leaves: pathlib.Path = None  # a folder to remove afterwards


def cache_folder():
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "coz-bench"


def _sources(path):
    """The file in the source tree, which has everything beside it."""
    return (ROOT / path).resolve()


def _run(command, environment=None):
    subprocess.run([str(part) for part in command], check=True, timeout=1200, stdout=sys.stderr,
                   env={**os.environ, **(environment or {})})


def fetch_original():
    """The original's command, unpacked beside with the libraries that it needs; None where it cannot be had."""
    folder = cache_folder() / "original"
    command = folder / "usr/bin/coz"
    if not list(folder.glob("usr/lib/*/libelf++.so*")):
        try:
            for package in _ORIGINAL:
                _run([_sources("third_party/debian/unpack.sh"), package, folder])
        except subprocess.CalledProcessError:
            return None  # unpack.sh has said why
    return command


def libraries_of(command):
    """What LD_LIBRARY_PATH must have for an original that was unpacked and not installed."""
    return ":".join(str(folder) for folder in command.parents[1].glob("lib/*-linux-gnu"))


def _demo(seconds_text, peer):
    source = _sources("examples/pipeline.cc")
    built = cache_folder() / "demo/pipeline"
    if peer:
        built.parent.mkdir(parents=True, exist_ok=True)
        _run(["g++", "-O2", "-g", *_FOR_ORIGINAL, "-I", source.parents[1], source, "-o", built, "-pthread", "-ldl"])
    return Subject("demo", [ROOT / "examples/pipeline", seconds_text], original=[built, seconds_text] if peer else None)


def _study(name, seconds_text):
    command = [ROOT / "bench/accuracy/programs" / name, f"--seconds={seconds_text}", "--steps-per-us=300"]
    return Subject(name, command, original=command)


def _sqlite(seconds_text, driver, peer):
    build = _sources("bench/servers/sqlite/build.sh")
    folder = cache_folder() / "sqlite"
    if not driver:
        _run([build, folder])
    original = None
    if peer:
        _run([build, folder.with_name("sqlite-original"), *_FOR_ORIGINAL], {"COZ_H": str(peer.parents[1] / "include")})
        original = [folder.with_name("sqlite-original") / "driver", "2", seconds_text]
    return Subject("sqlite", [driver or folder / "driver", "2", seconds_text], original=original)


def _leveldb():
    """Writes on and on: whoever runs it ends it."""
    folder = cache_folder() / "leveldb"
    _run([_sources("bench/servers/leveldb/build.sh"), folder])
    database = "/dev/shm/coz-verdicts-leveldb" if os.path.isdir("/dev/shm") else str(folder / "db")
    # Each makes its database anew, so that they do not fill the disk.
    benchmarks = ",".join(["fillbatch"] * 1000)
    return Subject("leveldb", [folder / "db_bench", f"--benchmarks={benchmarks}", "--num=500000", "--threads=4",
                               f"--db={database}"], ("--progress=leveldb::DBImpl::Write",), leaves=pathlib.Path(database))


def subjects(wanted, seconds, driver, peer):
    """Builds what is wanted: names, or none for all."""
    text = str(seconds + 2)
    makers = {"demo": lambda: _demo(text, peer)}
    makers.update({name: lambda name=name: _study(name, text) for name in _STUDY})
    makers["sqlite"] = lambda: _sqlite(text, driver, peer)
    makers["leveldb"] = _leveldb
    unknown = set(wanted) - set(makers)
    if unknown:
        sys.exit(f"there is no program {', '.join(sorted(unknown))}; there are {', '.join(makers)}")
    return [make for name, make in makers.items() if not wanted or name in wanted]
