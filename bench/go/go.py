#!/usr/bin/env python3
"""Predicts what faster work would bring in programs of Go whose goroutines wait for each other, and measures it.

  ./bazelw run //bench/go [-- [--seconds 30] [--rounds 5] [--only KIND,KIND]]

Prints a Markdown table: the share of a round's time that is saved where `heavy` is 25, 50 and 75 % faster, as predicted
with its 95 % interval, and as it is when heavy really does so much less (median of so many pairs of runs in turn). Needs
two CPUs; installs Debian's Go where it is missing.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

# In the runfiles, where `bazel run` starts this program.
_COZ = pathlib.Path("tools/coz").resolve()
_SOURCE = pathlib.Path("bench/go/goroutines.go").resolve()
_KINDS = ("serial", "ping_pong", "pipeline", "fork_join", "pool", "mutex", "library", "garbage", "server")
_SPEEDUPS = (25, 50, 75)


def _run(*command, **options):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=True, **options).stdout


def _build(folder):
    if shutil.which("go") is None:
        if os.getuid() != 0:
            sys.exit("Go is missing; run: sudo apt-get install golang-go")
        _run("apt-get", "update", "-qq")
        _run("apt-get", "install", "-y", "-qq", "--no-install-recommends", "golang-go")
    shutil.copy(_SOURCE, folder)
    environment = {**os.environ, "CGO_ENABLED": "1", "HOME": folder, "GOFLAGS": "-mod=mod"}
    _run("go", "build", "-o", "goroutines", "goroutines.go", cwd=folder, env=environment)
    return os.path.join(folder, "goroutines")


def _rate(program, kind, share):
    return float(_run(program, kind, "1", str(share)))


def _real(program, kind, percent, rounds):
    """Shares of the time of a round that are saved, of pairs of runs in turn."""
    return [1 - _rate(program, kind, 1) / _rate(program, kind, 1 - percent / 100) for _ in range(rounds)]


def _predicted(program, kind, seconds, folder):
    """The prediction for each speedup: value, low, high."""
    profile = os.path.join(folder, kind + ".pb")
    awake = ["--awake"] if os.getuid() == 0 else []
    _run(_COZ, "run", "-o", profile, *awake, "--unit=function", "--fixed-unit=main.heavy", "--progress=main.round",
         "--fixed-speedup=" + ",".join(map(str, _SPEEDUPS)), "---", program, kind, str(seconds), "1")
    line = json.loads(_run(_COZ, "report", "--json", profile))["points"][0]["lines"][0]
    return {round(100 * at["virtual_speedup"]): at["program_speedup"] for at in line["speedups"]}


def _percent(value):
    return "%.0f" % (100 * value)


def _rows(program, kind, arguments, folder):
    predicted = _predicted(program, kind, arguments.seconds, folder)
    for percent in _SPEEDUPS:
        real = _real(program, kind, percent, arguments.rounds)
        at = predicted.get(percent)
        said = "none" if at is None else "%s (%s to %s)" % tuple(_percent(at[key]) for key in ("value", "low", "high"))
        middle = statistics.median(real)
        error = "" if at is None else "%+.0f" % (100 * (at["value"] - middle))
        yield "| %s | %d %% | %s | %s | %s |" % (kind, percent, said, _percent(middle), error)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30, help="of each profile (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="pairs of real runs of a second (default %(default)s)")
    parser.add_argument("--only", default=",".join(_KINDS), help="kinds of programs (default: all)")
    arguments = parser.parse_args()
    print("| program | faster by | predicted | real | error |\n|---|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        program = _build(folder)
        for kind in arguments.only.split(","):
            for row in _rows(program, kind, arguments, folder):
                print(row, flush=True)


if __name__ == "__main__":
    main()
