#!/usr/bin/env python3
"""Predicts what faster parts of an MPI program would bring (stencil.c, two ranks), and measures what they do bring.

  ./bazelw run //bench/mpi:stencil [-- [--seconds 60] [--rounds 5] [--short 1400]]

Prints a Markdown table: the gain at 30 % as predicted, as it is when the loop is really that much shorter (median of
so many pairs of runs in turn), and as it follows from the lengths of the parts. Needs two CPUs; installs Debian's Open
MPI where it is missing.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

# In the runfiles, where `bazel run` starts this program.
_COZ = pathlib.Path("tools/coz").resolve()
_SOURCE = pathlib.Path("bench/mpi/stencil.c").resolve()
_HEADERS = pathlib.Path("coz/runtime").resolve()
_PACKAGES = ("openmpi-bin", "libopenmpi-dev")
_LENGTHS_US = {"Root": 1000, "Long": 1500, "Short": 1000}
_FASTER = 0.3
# As root only in containers and virtual machines, where this bench runs.
_ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def _run(*command):
    return subprocess.run(command, env=_ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=True).stdout


def _install():
    if not any(pathlib.Path(folder, "mpicc").exists() for folder in os.environ["PATH"].split(":")):
        if os.getuid() != 0:
            sys.exit("Open MPI is missing; run: sudo apt-get install " + " ".join(_PACKAGES))
        _run("apt-get", "update", "-qq")
        _run("apt-get", "install", "-y", "-qq", "--no-install-recommends", *_PACKAGES)


def _mpi(program, lengths, steps):
    return ["mpirun", "--oversubscribe", "--bind-to", "core", "-n", "2", program, *map(str, lengths.values()), str(steps)]


def _step_us(lengths):
    return lengths["Root"] + max(lengths["Long"], lengths["Short"])


def _shorter(part):
    return {name: length * (1 - _FASTER) if name == part else length for name, length in _LENGTHS_US.items()}


def _real_gains(program, part, rounds):
    gains = []
    for _ in range(rounds):
        now, then = (float(_run(*_mpi(program, lengths, 1000))) for lengths in (_LENGTHS_US, _shorter(part)))
        gains.append(1 - then / now)
    return sorted(gains)


def _predictions(program, profile, seconds):
    steps = int(seconds * 1e6 / _step_us(_LENGTHS_US))
    _run(_COZ, "run", "--follow=all", "--unit=function", "-b", "%" + program.name, f"--duration={seconds}", "-o", profile, "---",
         *_mpi(program, _LENGTHS_US, steps))
    report = json.loads(_run(_COZ, "report", "--json", profile))
    for note in report["notes"]:
        print("note:", note if isinstance(note, str) else note.get("text", note))
    return {report["units"][line["unit"]]["function"]: line["headline"]["program_speedup"]
            for line in report["points"][0]["lines"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--short", type=int, default=_LENGTHS_US["Short"], help="us of Short (default %(default)s)")
    options = parser.parse_args()
    _LENGTHS_US["Short"] = options.short
    _install()
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "stencil")
        _run("mpicc", "-std=gnu11", "-O2", "-g", f"-I{_HEADERS}", _SOURCE, "-o", program)
        predicted = _predictions(program, pathlib.Path(folder, "profile.pb"), options.seconds)
        print("| function | predicted | real | by its length |\n|---|--:|--:|--:|")
        for part in _LENGTHS_US:
            real = _real_gains(program, part, options.rounds)
            by_length = 1 - _step_us(_shorter(part)) / _step_us(_LENGTHS_US)
            gain = predicted.get(part)
            text = f"{gain['value']:.1%} ({gain['low']:.1%} to {gain['high']:.1%})" if gain else "no figure"
            print(f"| `{part}` | {text} | {statistics.median(real):.1%} ({real[0]:.1%} to {real[-1]:.1%}) | {by_length:.1%} |")


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as failed:
        sys.exit(f"bench/mpi: {failed.cmd[0]} failed with status {failed.returncode}: {failed.stderr[-500:]}")
