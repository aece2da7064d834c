#!/usr/bin/env python3
"""What a progress point costs a real server: requests a second with it, without it, and without coz, in turn.

Usage: ./bazelw run //bench/servers:points_cost -- [--only=NAME,NAME] [--rounds=N] [--run-seconds=N] [--folder=DIR] [--coz=PATH]

Each server runs bare; below coz, which samples and imposes no delay; and the same with the point. Sampling is by CPU
timers, which cost next to nothing, so that what is left is the point's. The rates are medians, and so are the ratios of
the runs of one round.
"""
import argparse
import pathlib
import statistics
import sys

import catalogue
import processes
import servers
import session
import under_coz
from server import AFTER

# Server, and the place of its point.
_POINTS = (("postgresql-2-socket", "usdt:postgresql:query__done"), ("postgresql-2-socket", "ReadyForQuery"),
           ("redis", "processCommand"), ("nginx-2", "ngx_http_finalize_request"), ("leveldb", "leveldb::DBImpl::Write"))
_OPTIONS = ("--unit=function", "--fixed-speedup=0", "--sampler=cpu-timer")


def options(arguments):
    parser = argparse.ArgumentParser(prog="points_cost", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="beginnings of SERVER or of the place")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--run-seconds", type=float, default=2)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("/tmp/coz-servers"))
    parser.add_argument("--coz", type=pathlib.Path, help="instead of this tree's")
    return parser.parse_args(arguments)


class Counted:
    """A server below coz, with or without the point."""

    def __init__(self, server, coz, seconds):
        self.server = server
        self.coz = coz
        self.seconds = seconds
        self.counted_by = ""

    def rate(self, place):
        output = self.server.folder / "points-cost.pb"
        output.unlink(missing_ok=True)
        self.server.point_options = ("--progress=" + place,) if place else ()
        rate = self.coz.run(self.server, AFTER, self.seconds, False, output, list(_OPTIONS))
        if place:
            point = next(point for point in self.coz.report(output)["points"] if point["name"] == place)
            if point["visits"] < rate * self.seconds / 2000:
                raise processes.Failed("the point %s was visited %d times only" % (place, point["visits"]))
            self.counted_by = point["counted_by"]
        return rate


def measure(kind, place, chosen, coz):
    server = kind(chosen.folder, servers.free_port())
    try:
        servers.build(server, chosen)
        counted = Counted(server, coz, chosen.run_seconds)
        ways = {"bare": lambda: session.run(server, AFTER, chosen.run_seconds), "without": lambda: counted.rate(""),
                "with": lambda: counted.rate(place)}
        rates = {way: [] for way in ways}
        for number in range(chosen.rounds):
            for way in sorted(ways, reverse=number % 2 == 1):
                rates[way].append(ways[way]())
        return rates, counted.counted_by
    finally:
        processes.end_all()
        server.clean()


def ratio(above, below):
    """Median of the rounds' ratios, with the quartiles."""
    ratios = sorted(a / b for a, b in zip(above, below))
    quarter = len(ratios) // 4
    return "%.3f [%.3f, %.3f]" % (statistics.median(ratios), ratios[quarter], ratios[-1 - quarter])


def row(server, place, rates, counted_by):
    return "| %s | `%s` | %s | %.0f | %s | %s |" % (
        server, place, counted_by, statistics.median(rates["bare"]), ratio(rates["with"], rates["without"]),
        ratio(rates["with"], rates["bare"]))


def main(arguments):
    chosen = options(arguments)
    chosen.folder.mkdir(parents=True, exist_ok=True)
    coz = under_coz.Coz(chosen.coz or servers.installed_coz(chosen.folder), [], chosen.folder)
    wanted = [name for name in chosen.only.split(",") if name]
    print("| server | point | counted by | bare requests/s | with / without the point | with / bare |\n|---|---|---|---|---|---|",
          flush=True)
    failed = False
    for name, place in _POINTS:
        if wanted and not any(name.startswith(want) or place.startswith(want) for want in wanted):
            continue
        kind = next(kind for kind in catalogue.SERVERS if kind.name == name)
        try:
            print(row(name, place, *measure(kind, place, chosen, coz)), flush=True)
        except processes.FAILURES as failure:
            failed = True
            print("%s, %s: %s" % (name, place, failure), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except processes.Failed as failed:
        sys.exit("points_cost: %s" % failed)
    except KeyboardInterrupt:
        sys.exit(130)
