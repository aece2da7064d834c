#!/usr/bin/env python3
"""How long it takes to attach to a process and to leave it, to add a point and to remove it; and to attach to it with gdb.

Usage: ./bazelw run //bench/points:attach_times -- [--rounds=N]

The process works in half of its threads, and waits in the others. Figures are medians of wall time with quartiles, in ms, from
the begin of a command to its end. `coz attach` has a duration of 10 ms, which is subtracted.
"""
import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

_ROOT = pathlib.Path(os.getcwd())  # of the runfiles
_COZ = _ROOT / "tools/coz"
_RESIDENT = _ROOT / "coz/testing/puppets/resident"
_DURATION_S = 0.01
_THREADS = (4, 64)


class Process:
    """The program, until the end of a with statement."""

    def __init__(self, threads):
        self.process = subprocess.Popen([_RESIDENT, str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()  # it is ready

    def __enter__(self):
        return self.process.pid

    def __exit__(self, *_):
        said, _ = self.process.communicate("end\n")
        if said != "right\n":
            sys.exit("attach_times: the process has ended with: %s" % said)


def took_ms(command, folder, statuses=(0,)):
    begin = time.monotonic()
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    took = time.monotonic() - begin
    if done.returncode not in statuses:
        sys.exit("attach_times: %s: %s" % (command[0], done.stderr.strip()))
    return took * 1e3


def attach_ms(pid, folder):
    nothing_measured = 3
    took = took_ms([_COZ, "attach", "--duration=%g" % _DURATION_S, str(pid)], folder, (0, nothing_measured))
    return took - _DURATION_S * 1e3


def change_ms(pid, folder, rounds):
    """Of additions, and of removals."""
    session = subprocess.Popen([_COZ, "attach", str(pid)], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    points = [_COZ, "points", "--session=%d" % session.pid]
    while subprocess.run([*points, "--list"], capture_output=True, check=False).returncode != 0:
        time.sleep(0.1)
    added, removed = [], []
    for _ in range(rounds):
        added.append(took_ms([*points, "--add=make"], folder))
        removed.append(took_ms([*points, "--remove=make"], folder))
    session.terminate()
    session.wait()
    return added, removed


def figures(times):
    low, middle, high = statistics.quantiles(times, n=4)
    return "%.0f [%.0f, %.0f]" % (middle, low, high)


def main(arguments):
    parser = argparse.ArgumentParser(prog="attach_times", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args(arguments).rounds
    print("| threads | coz attaches and leaves | adds a point | removes it | gdb attaches and leaves |\n|--:|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        for threads in _THREADS:
            with Process(threads) as pid:
                attached = [attach_ms(pid, folder) for _ in range(rounds)]
                added, removed = change_ms(pid, folder, rounds)
                gdb = ["gdb", "-q", "-nx", "-batch", "-p", str(pid)]
                by_gdb = [took_ms(gdb, folder) for _ in range(rounds)] if shutil.which("gdb") else []
            print("| %d | %s | %s | %s | %s |" % (threads, figures(attached), figures(added), figures(removed),
                                                   figures(by_gdb) if by_gdb else "not installed"), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
