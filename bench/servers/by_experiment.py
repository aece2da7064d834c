#!/usr/bin/env python3
"""Where the CPU time of a server's request goes, in baselines and in experiments of one run.

Usage: ./bazelw run //bench/servers:by_experiment -- [--only=NAME] [--seconds=N] [--skip=N]
                                                      [--programs=NAME,NAME] [--folder=DIR] [--coz=PATH]

Pauses take CPU time where threads outnumber CPUs. That is left out of a request's time. Whatever else a request takes more in
experiments is a cost of profiling that predictions lack. A last line compares what pauses took with what the delay asks for: more
means that some thread paid for what its CPU had served already. perf samples all CPUs meanwhile (Debian's linux-perf; as root),
which costs time itself, so compare the columns with each other and not with other runs.
"""
import argparse
import bisect
import collections
import json
import os
import pathlib
import re
import subprocess
import sys

import catalogue
import processes
import servers
import under_coz
from server import BEFORE

_RATE_HZ = 1900
_SPEEDUPS = "0,60,65,70,75,80"
_START_S = 3  # until the server answers and samples come from the source that stays
_SAMPLE = re.compile(r"^\s*(.*?)\s+(\d+\.\d+):\s+[0-9a-f]+\s+(.*)\s+\((.*)\)$")


def kind_of(command, library, programs):
    """Whose code a sample is in."""
    if command == "swapper":
        return "idle"
    if "libcoz" in library or "[vdso]" in library:
        return "runtime and pauses"
    if command not in programs:
        return "other programs, coz too"
    return command + (", kernel" if library.startswith("[") else ", user")


def samples_of(script, programs):
    """Time and kind of each sample, in the order of time, from the text of `perf script`."""
    samples = []
    for line in script.splitlines():
        found = _SAMPLE.match(line)
        if found:
            command, at_s, _symbol, library = found.groups()
            samples.append((float(at_s), kind_of(command, library, programs)))
    return sorted(samples)


def by_experiment(samples, experiments, cpus):
    """Microseconds of CPU time a visit, by kind, in baselines and in experiments: two dictionaries."""
    times = [at_s for at_s, _kind in samples]
    sums = {True: collections.Counter(), False: collections.Counter()}
    visits, cpu_us = collections.Counter(), collections.Counter()
    for one in experiments:
        start_s, end_s = one["start_s"], one["start_s"] + one["elapsed_s"]
        if not times or start_s < times[0] or end_s > times[-1]:
            continue
        is_baseline = one["virtual_speedup"] == 0
        visits[is_baseline] += one["visits"]
        cpu_us[is_baseline] += 1e6 * cpus * one["elapsed_s"]
        for _at_s, kind in samples[bisect.bisect(times, start_s):bisect.bisect(times, end_s)]:
            sums[is_baseline][kind] += 1
    result = []
    for is_baseline in (True, False):
        total = sum(sums[is_baseline].values())
        if not total or not visits[is_baseline]:
            raise processes.Failed("perf and coz have no experiment in common; try --seconds=30")
        each_us = cpu_us[is_baseline] / total / visits[is_baseline]
        result.append({kind: count * each_us for kind, count in sums[is_baseline].items()})
    return result


def pauses_of(experiments, cpus):
    """CPU seconds, for each second of the experiments with a speedup, that CPUs must stand still for the delay, and that pauses
    took. While CPUs are never idle the two are equal: each serves the whole delay, by pauses or by running the unit itself."""
    delayed = [one for one in experiments if one["virtual_speedup"] > 0]
    elapsed_s = sum(one["elapsed_s"] for one in delayed)
    due_s = sum(cpus * one["delay_s"] - one["imposed_s"] for one in delayed)
    return due_s / elapsed_s, sum(one["pause_cpu_s"] for one in delayed) / elapsed_s


def table(baselines, experiments):
    """The figures as Markdown."""
    lines = ["| CPU time of a request, µs | baselines | experiments |", "|---|--:|--:|"]
    for kind in sorted(set(baselines) | set(experiments), key=lambda kind: -baselines.get(kind, 0)):
        lines.append("| %s | %.1f | %.1f |" % (kind, baselines.get(kind, 0), experiments.get(kind, 0)))
    return "\n".join(lines)


def later_than(rows, skip_s):
    """Those of the rows that began so long after the first."""
    first_ms = min((row["start_unix_ms"] for row in rows), default=0)
    return [row for row in rows if row["start_unix_ms"] >= first_ms + 1000 * skip_s]


def experiments_of(coz, profile, point, skip_s):
    text = subprocess.run([coz.program, "export", "--format=jsonl", "-o", "-", profile], check=True, capture_output=True, text=True).stdout
    rows = [json.loads(line) for line in text.splitlines()]
    return [{"start_s": row["start_unix_ms"] / 1e3, "elapsed_s": row["elapsed_ns"] / 1e9, "visits": row["visits"],
             "virtual_speedup": row["virtual_speedup"], "delay_s": row["inserted_delay_ns"] / 1e9,
             "imposed_s": row["imposed_delay_ns"] / 1e9, "pause_cpu_s": row["pause_cpu_ns"] / 1e9}
            for row in later_than(rows, skip_s) if row["valid"] and row["point"] == point]


def sampled_run(server, coz, seconds, skip_s):
    """The text of perf's samples, and the experiments, of one run."""
    data, profile = server.folder / "by-experiment.data", server.folder / "by-experiment.pb"
    perf = subprocess.Popen(["perf", "record", "-k", "CLOCK_REALTIME", "-o", data, "-a", "-e", "cpu-clock", "-F", str(_RATE_HZ), "--",
                             "sleep", str(seconds + _START_S)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        coz.run(server, BEFORE, seconds, True, profile,
                [*server.unit_options, "--fixed-line", server.unit, "--fixed-speedup", _SPEEDUPS, "--sampler=cpu-timer"])
    finally:
        perf.wait()
    script = subprocess.run(["perf", "script", "-i", data, "-F", "comm,time,ip,sym,dso"], check=True, capture_output=True,
                            text=True).stdout
    data.unlink()
    return script, experiments_of(coz, profile, server.point, skip_s)


def main(arguments):
    parser = argparse.ArgumentParser(prog="by_experiment", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="postgresql-2-tcp")
    parser.add_argument("--seconds", type=float, default=24)
    parser.add_argument("--skip", type=float, default=0, help="seconds at the beginning, in which data are loaded, say")
    parser.add_argument("--programs", default="postgres,pgbench", help="names of server and load generator")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("/tmp/coz-servers"))
    parser.add_argument("--coz", type=pathlib.Path)
    chosen = parser.parse_args(arguments)
    chosen.folder = servers.of_caller(chosen.folder)
    awake = servers.keep_cpus_awake()
    kind = next(kind for kind in catalogue.SERVERS if kind.name == chosen.only)
    server = kind(chosen.folder, servers.free_port())
    try:
        servers.build(server, chosen)
        coz = under_coz.Coz(chosen.coz or servers.installed_coz(chosen.folder), [], chosen.folder)
        script, experiments = sampled_run(server, coz, chosen.seconds, chosen.skip)
    finally:
        processes.end_all()
        server.clean()
        if awake:
            awake.close()
    samples = samples_of(script, chosen.programs.split(","))
    print(table(*by_experiment(samples, experiments, os.cpu_count())))
    print("\nPauses: %.2f CPUs are due, and %.2f were taken." % pauses_of(experiments, os.cpu_count()))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (processes.Failed, OSError, subprocess.CalledProcessError) as failed:
        sys.exit("by_experiment: %s" % failed)
