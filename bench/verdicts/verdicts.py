#!/usr/bin/env python3
"""How many seconds of profiling give a verdict for the lines that matter.

    ./bazelw run //bench:verdicts -- [--seconds=60] [--only=NAME,...] [--coz=COMMAND]

Each program is profiled once. Its profile is then cut after each five seconds, as if the run had ended there, and `coz
report --json` judges what is left. A line is settled when its verdict is sure, or when chance makes its slope's 95 %
interval at most 0.1 wide. Printed are the seconds until the ten lines with the most samples are settled, and how many
lines are after each time. --coz compares another build of coz.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

_ROOT = pathlib.Path.cwd()  # `bazel run` starts in the folder of what was built
_STEP_S = 5
_TOP = 10
_LEAST_SHARE = 0.01
_WIDTH = 0.1
_EXPERIMENT = 4  # numbers of fields in profile.proto
_START_NS = 6
_ELAPSED_NS = 7


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """(number, value, end) of each field of a protobuf message; bytes where it has a length."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
        else:
            size = {1: 8, 5: 4}[kind]
            value, at = data[at:at + size], at + size
        yield key >> 3, value, at


def experiment_ends(data):
    """(seconds since the session's start, bytes up to there) of each experiment of a profile."""
    ends = []
    for number, value, end in fields(data):
        if number == _EXPERIMENT:
            times = {n: v for n, v, _ in fields(value) if n in (_START_NS, _ELAPSED_NS)}
            ends.append(((times.get(_START_NS, 0) + times.get(_ELAPSED_NS, 0)) / 1e9, end))
    return ends


def is_settled(line):
    chance = line["statistical_slope"]
    return (line["verdict"] != "cannot_tell" and line["sure"]) or chance["high"] - chance["low"] <= _WIDTH


def settled_units(coz, profile):
    """The names of the settled lines, and all units with their shares of samples."""
    result = subprocess.run([coz, "report", "--json", profile], capture_output=True, text=True, timeout=120)
    if not result.stdout:
        return set(), {}
    report = json.loads(result.stdout)
    units = report["units"]
    shares = {unit["name"]: unit["sample_share"] or 0 for unit in units}
    lines = report["points"][0]["lines"] if report["points"] else []
    return {units[line["unit"]]["name"] for line in lines if is_settled(line)}, shares


def judge(coz, path, seconds, folder):
    """The seconds until the top lines are settled (None: never), their number, and the number settled at each time."""
    data = path.read_bytes()
    ends = experiment_ends(data)
    _, shares = settled_units(coz, path)
    top = sorted((name for name, share in shares.items() if share >= _LEAST_SHARE), key=lambda name: -shares[name])[:_TOP]
    counts = []
    first = None
    for limit in range(_STEP_S, seconds + 1, _STEP_S):
        up_to = max((end for time, end in ends if time <= limit), default=0)
        cut = folder / "cut.pb"
        cut.write_bytes(data[:up_to])
        settled = settled_units(coz, cut)[0] if up_to else set()
        counts.append(len(settled))
        if not set(top) <= settled:
            first = None
        elif first is None:
            first = limit
    return first, len(top), counts


def programs(arguments):
    study = _ROOT / "bench/accuracy/programs"
    found = {name: [study / name, f"--seconds={arguments.seconds + 2}", "--steps-per-us=300"]
             for name in ("pipeline", "mutex", "barrier", "thread_pool")}
    found["sqlite"] = [arguments.sqlite or build_sqlite(), "2", str(arguments.seconds + 2)] if wanted(arguments, "sqlite") else []
    return {name: command for name, command in found.items() if wanted(arguments, name)}


def wanted(arguments, name):
    return not arguments.only or name in arguments.only.split(",")


def build_sqlite():
    folder = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "coz-bench/sqlite"
    subprocess.run([(_ROOT / "bench/servers/sqlite/build.sh").resolve(), folder], check=True, timeout=1200, stdout=sys.stderr)
    return folder / "driver"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--only", help="names, with commas between them")
    parser.add_argument("--coz", default=str(_ROOT / "tools/coz"), help="the command to measure")
    parser.add_argument("--sqlite", help="the built driver of bench/servers/sqlite")
    arguments = parser.parse_args()
    print(f"{'program':<14} {'top lines':>9} {'settled by':>10}  settled after {_STEP_S}, {2 * _STEP_S} ... s")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for program, command in programs(arguments).items():
            path = folder / f"{program}.pb"
            subprocess.run([arguments.coz, "run", "-o", path, f"--duration={arguments.seconds}", "---", *command],
                           capture_output=True, timeout=arguments.seconds + 120, check=False)
            first, top, counts = judge(arguments.coz, path, arguments.seconds, folder)
            print(f"{program:<14} {top:>9} {str(first) + ' s' if first else '-':>10}  {' '.join(map(str, counts))}", flush=True)


if __name__ == "__main__":
    main()
