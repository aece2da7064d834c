#!/usr/bin/env python3
"""Real servers below coz, end to end: what profiling costs them, and whether what coz predicts comes true.

Usage: ./bazelw run //bench/servers -- [--only=NAME,NAME] [--seconds=N] [--pairs=N] [--run-seconds=N] [--load=followed|beside|both]
                                       [--bare-only | --all-units] [--markdown=FILE] [--folder=DIR] [--coz=PATH]
                                       [--coz-option=OPTION]... [--quota=CPUS]

For each server: requests a second bare, below coz without delays and with delays; the change that makes one function
cheaper; what coz predicts of it, and what it really brings, in runs taken in turn. Load goes over loopback or a socket, and
is bounded in time. Idle CPUs are kept from halting meanwhile, where this user may. Programs and figures stay in FOLDER.
"""
import argparse
import os
import pathlib
import signal
import socket
import subprocess
import sys

import catalogue
import intervals
import measure
import packages
import processes
import quota
import table
import under_coz

ROOT = pathlib.Path(__file__).resolve().parents[2]


def say(text):
    print(text, file=sys.stderr, flush=True)


def of_caller(path):
    """As the user has meant it: `bazel run` has changed the folder."""
    return pathlib.Path(os.environ.get("COZ_CALLER_PWD") or os.environ.get("BUILD_WORKING_DIRECTORY") or os.getcwd()) / path


def options(arguments):
    parser = argparse.ArgumentParser(prog="servers", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="names, or their beginnings: %s" %
                        ", ".join(server.name for server in catalogue.SERVERS))
    parser.add_argument("--seconds", type=float, default=60, help="of load in each profile (default %(default)s)")
    parser.add_argument("--pairs", type=int, default=10, help="rounds of runs in turn (default %(default)s)")
    parser.add_argument("--run-seconds", type=float, default=3, help="of load in each such run (default %(default)s)")
    parser.add_argument("--load", choices=["followed", "beside", "both"], default="both", help="how load generators run")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--bare-only", action="store_true", help="rates without coz, and nothing else")
    only.add_argument("--sampled-only", action="store_true", help="rates without coz and sampled, and nothing else")
    only.add_argument("--all-units", action="store_true",
                      help="instead of the table, a report of each server in which coz chooses what to try")
    parser.add_argument("--markdown", type=pathlib.Path, help="where the table goes as Markdown")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("/tmp/coz-servers"))
    parser.add_argument("--coz", type=pathlib.Path, help="instead of this tree's")
    parser.add_argument("--coz-option", action="append", default=[], help="for each `coz run`; may be repeated")
    parser.add_argument("--quota", type=float, default=0,
                        help="CPUs that a cgroup allows server and load together (default: no quota)")
    chosen = parser.parse_args(arguments)
    try:
        chosen.servers = catalogue.chosen([name for name in chosen.only.split(",") if name])
    except ValueError as error:
        parser.error(str(error))
    if chosen.pairs < 1 or chosen.seconds < 1 or chosen.run_seconds < 1:
        parser.error("--pairs, --seconds and --run-seconds are 1 or more")
    if chosen.markdown:
        chosen.markdown = of_caller(chosen.markdown)
    chosen.folder = of_caller(chosen.folder)
    return chosen


def keep_cpus_awake():
    """As `coz run --awake` does, until the file that is returned is closed; None where that cannot be."""
    driver = pathlib.Path("/sys/devices/system/cpu/cpuidle/current_driver")
    if driver.exists() and driver.read_text().strip() == "none":
        say("idle CPUs may halt meanwhile, as this kernel has no idle driver; boot it with idle=poll to prevent that")
        return None
    try:
        file = open("/dev/cpu_dma_latency", "wb", buffering=0)
        file.write(b"\0\0\0\0")  # at most 0 us, as a 32 bit integer
        return file
    except OSError:
        say("idle CPUs may halt meanwhile, as /dev/cpu_dma_latency cannot be written; run this as root to prevent it")
        return None


def installed_coz(folder):
    """This tree's coz, where every user can read it."""
    prefix = folder / "prefix"
    subprocess.run([ROOT / "bazel-bin/tools/package/install", "--prefix=%s" % prefix], check=True, stdout=sys.stderr)
    return prefix / "bin/coz"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def build(server, chosen):
    packages.install(server.packages, chosen.folder, say)
    say("%s: building what it needs in %s" % (server.name, server.folder))
    server.build()


def rows_of(kind, chosen, coz):
    """The table's rows of one server; of --all-units only those that failed, since the reports are printed."""
    effort = measure.Effort(chosen.pairs, chosen.run_seconds, chosen.seconds, chosen.bare_only, chosen.quota,
                            chosen.sampled_only)
    ways = {"followed": [True], "beside": [False], "both": [True, False]}[chosen.load]
    server = kind(chosen.folder, free_port())
    try:
        build(server, chosen)
        with quota.Cgroup(chosen.quota):
            measurement = measure.Measurement(server, coz, effort, say)
            if not chosen.all_units:
                return measurement.rows(ways)
            for report in measurement.all_units(ways):
                print(report, flush=True)
            return []
    except processes.FAILURES as failure:
        return [measure.Row(server.name, server.load, change=server.change, kind=server.kind, failure=str(failure))]
    finally:
        processes.end_all()
        server.clean()


def main(arguments):
    chosen = options(arguments)
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, lambda *_: sys.exit(1))  # by way of `finally`
    chosen.folder.mkdir(parents=True, exist_ok=True)
    awake = keep_cpus_awake()
    rows = []
    try:
        coz = None if chosen.bare_only else under_coz.Coz(chosen.coz or installed_coz(chosen.folder), chosen.coz_option,
                                                        chosen.folder)
        for kind in chosen.servers:
            rows += rows_of(kind, chosen, coz)
    finally:
        processes.end_all()
        if awake:
            awake.close()
        if rows:
            print(table.text(rows, intervals.agree))
            if chosen.markdown:
                chosen.markdown.write_text(table.markdown(rows, intervals.agree) + "\n")
    return 1 if any(row.failure for row in rows) else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except processes.Failed as failed:
        sys.exit("servers: %s" % failed)
    except KeyboardInterrupt:
        sys.exit(130)
