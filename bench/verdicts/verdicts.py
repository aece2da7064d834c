#!/usr/bin/env python3
"""How many seconds of profiling give a verdict for the lines that matter.

    ./bazelw run //bench:verdicts -- [--seconds=60] [--only=NAME,...] [--coz=COMMAND] [--peer=COMMAND | --no-peer]
    ./bazelw run //bench:verdicts -- --demo-runs=20 [--seconds=10]     how often the demo's three lines are right

Each program is profiled once. Its profile is then cut after each five seconds, as if the run had ended there, and `coz
report --json` judges what is left. A line is settled when its verdict is sure, by experiments or by its samples, or
when chance makes its slope's 95 % interval at most 0.1 wide. Printed are the seconds until the ten lines with the most
samples are settled, and how many lines are after each time. --coz compares another build of coz.

The original Coz profiles each program that has a mark as long; --peer names its command, and without it Debian's package
is unpacked beside. A line of its profile is settled when its slope, with the standard error, tells as much.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

import known_answer
import original_profile
import subjects

_STEP_S = 5
_TOP = 10
_LEAST_SHARE = 0.01
_WIDTH = 0.1
_NO_EFFECT = 0.1
_TO_START_S = 20  # beyond the measured time: reading debug information, and the program's own start
_TO_END_S = 30    # after an interrupt
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
    if not report["points"]:
        return set(), shares
    point = report["points"][0]
    settled = [line for line in point["lines"] if is_settled(line)]
    settled += [line for line in point["set_aside"] if line["reason"] == "small"]
    return {units[line["unit"]]["name"] for line in settled}, shares


def first_time(times, all_settled):
    """The first of the times from which on all are settled; None: never."""
    first = None
    for time, settled in zip(times, all_settled):
        if not settled:
            first = None
        elif first is None:
            first = time
    return first


def judge(coz, path, seconds, folder):
    """The seconds until the top lines are settled (None: never), their number, and the number settled at each time."""
    data = path.read_bytes() if path.exists() else b""
    ends = experiment_ends(data)
    _, shares = settled_units(coz, path)
    top = sorted((name for name, share in shares.items() if share >= _LEAST_SHARE), key=lambda name: -shares[name])[:_TOP]
    settled = []
    for limit in times(seconds):
        up_to = max((end for time, end in ends if time <= limit), default=0)
        cut = folder / "cut.pb"
        cut.write_bytes(data[:up_to])
        settled.append(settled_units(coz, cut)[0] if up_to else set())
    return first_time(times(seconds), [bool(top) and set(top) <= lines for lines in settled]), len(top), list(map(len, settled))


def judge_original(text, seconds):
    """As judge. It tells no shares of samples, so its top lines are those of most experiments."""
    found = original_profile.experiments(text, seconds)
    counts = {}
    for _, line, *_ in found:
        counts[line] = counts.get(line, 0) + 1
    top = sorted(counts, key=lambda line: -counts[line])[:_TOP]
    settled = [original_profile.settled_lines(found, limit, _WIDTH, _NO_EFFECT) for limit in times(seconds)]
    return first_time(times(seconds), [bool(top) and set(top) <= lines for lines in settled]), len(top), list(map(len, settled))


def times(seconds):
    return range(_STEP_S, seconds + 1, _STEP_S)


def print_row(name, profiler, result):
    first, top, counts = result
    settled_by = f"{first} s" if first else "-"
    print(f"{name:<12} {profiler:<9} {top:>9} {settled_by:>10}  {' '.join(map(str, counts))}", flush=True)


def run_for(command, seconds, environment=None):
    """Runs it until it ends by itself, or interrupts it and its children as Ctrl-C does."""
    with subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          start_new_session=True, env={**os.environ, **(environment or {})}) as process:
        for number in (signal.SIGINT, signal.SIGKILL):
            try:
                process.wait(seconds)
                return
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, number)
                seconds = _TO_END_S


def run_ours(subject, arguments, folder):
    path = folder / f"{subject.name}.pb"
    run_for([arguments.coz, "run", "-o", path, f"--duration={arguments.seconds}", *subject.options, "---", *subject.command],
            arguments.seconds + _TO_START_S)
    print_row(subject.name, "coz", judge(arguments.coz, path, arguments.seconds, folder))


def run_original(subject, peer, seconds, folder):
    path = folder / f"{subject.name}.coz"
    run_for([peer, "run", "--output", path, "--source-scope", subject.scope, "---", *subject.original], seconds + _TO_START_S,
            {"LD_LIBRARY_PATH": subjects.libraries_of(peer)})
    text = path.read_text(errors="replace") if path.exists() else ""
    print_row(subject.name, "original", judge_original(text, seconds))


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, help="of each run (60; of the demo 10)")
    parser.add_argument("--only", default="", help="names, with commas between them")
    parser.add_argument("--coz", default=str(subjects.ROOT / "tools/coz"), help="the command to measure")
    parser.add_argument("--peer", type=pathlib.Path, help="the original's command")
    parser.add_argument("--no-peer", action="store_true", help="leave the original out")
    parser.add_argument("--sqlite", help="the built driver of bench/servers/sqlite")
    parser.add_argument("--demo-runs", type=int, default=0, help="count right runs of the demo, and nothing else")
    arguments = parser.parse_args()
    arguments.seconds = arguments.seconds or (10 if arguments.demo_runs else 60)
    return arguments


def main():
    arguments = parse()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if arguments.demo_runs:
            known_answer.measure(arguments.coz, subjects.ROOT / "examples/pipeline", arguments.seconds, arguments.demo_runs, folder)
            return
        peer = None if arguments.no_peer else arguments.peer or subjects.fetch_original()
        wanted = [name for name in arguments.only.split(",") if name]
        makers = subjects.subjects(wanted, arguments.seconds, arguments.sqlite, peer)
        print(f"{'program':<12} {'profiler':<9} {'top lines':>9} {'settled by':>10}  settled after {_STEP_S}, {2 * _STEP_S} ... s")
        for make in makers:
            subject = make()
            run_ours(subject, arguments, folder)
            if peer and subject.original:
                run_original(subject, peer, arguments.seconds, folder)
            if subject.leaves:
                shutil.rmtree(subject.leaves, ignore_errors=True)


if __name__ == "__main__":
    main()
