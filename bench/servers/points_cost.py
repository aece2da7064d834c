#!/usr/bin/env python3
"""What a progress point costs a real server: requests a second and CPU time of a request, with it and without it.

Usage: ./bazelw run //bench/servers:points_cost -- [--only=NAME,NAME] [--blocks=N] [--pairs=N] [--run-seconds=N] [--folder=DIR]
                                                   [--coz=PATH]

A block is some loads of the bare server, and one load of a server below coz. Meanwhile `coz points --session` adds the point
and removes it, over and over. Another point of the program, which stays, meters the rate with it and without it. Every other
pair has the point first. The CPU time that the server's processes take for a request is paired as the rates are.
coz imposes no delay, and samples by CPU timers, which cost next to nothing. LevelDB's bench asks itself, and writes on and on;
its bare rate is that of a run which ends.
"""
import argparse
import concurrent.futures
import dataclasses
import pathlib
import statistics
import subprocess
import sys
import time

import catalogue
import processes
import servers
from redis_server import RedisAtOnce
from server import AFTER

# Server, the place of its point, and the point that meters: as many visits.
_POINTS = (("postgresql-2-socket", "usdt:postgresql:query__done", "ReadyForQuery"),
           ("postgresql-2-socket", "ReadyForQuery", "usdt:postgresql:query__done"), ("redis", "processCommand", "call"),
           ("redis-at-once", "processCommand", "call"),
           ("nginx-2", "ngx_http_finalize_request", "requests"), ("leveldb", "leveldb::DBImpl::Write", "leveldb::WriteBatch::Put"))
_KINDS = (*catalogue.SERVERS, RedisAtOnce)
_BARE_RUNS = 4   # in each block
_CHANGE_S = 1.0  # at most, of one command that adds or removes a point: processes that sleep are waited for
_OPTIONS = ("--unit=function", "--fixed-speedup=0", "--sampler=cpu-timer")


def options(arguments):
    parser = argparse.ArgumentParser(prog="points_cost", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="beginnings of SERVER or of the place")
    parser.add_argument("--blocks", type=int, default=3)
    parser.add_argument("--pairs", type=int, default=12, help="in each block")
    parser.add_argument("--run-seconds", type=float, default=0.5)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("/tmp/coz-servers"))
    parser.add_argument("--coz", type=pathlib.Path, help="instead of this tree's")
    return parser.parse_args(arguments)


@dataclasses.dataclass(frozen=True)
class Speed:
    rate: float            # requests per second
    cpu_us: float = None   # of all of the server's processes, for a request; None: unknown


class Session:
    """A server below coz, to which the point comes and goes."""

    def __init__(self, server, coz, place, meter):
        self.server = server
        self.coz = coz
        self.place = place
        self.meter = meter
        self.said = ""
        self.process = None

    def __enter__(self):
        server = self.server
        output = server.folder / "points-cost.pb"
        output.unlink(missing_ok=True)
        # nginx has its meter in its source.
        meter = [] if self.meter == "requests" else ["--progress=" + self.meter]
        command = [self.coz, "run", "--follow=all", "-o", output, "-b", server.binary, *meter, *_OPTIONS, "---"]
        self.process = processes.start([*server.user_prefix(), *command, *server.command(AFTER)], server.log("session"),
                                       cwd=server.folder)
        try:
            processes.wait_until(lambda: self.process.poll() is not None or server.is_ready(), 60, server.name + "'s first answer")
            server.fill(AFTER)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        processes.end(self.process, self.server.stop_signal, 20)

    def points(self, *options):
        done = subprocess.run([self.coz, "points", "--session=%d" % self.process.pid, *options], capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            raise processes.Failed(done.stderr.strip())
        return done.stdout + done.stderr

    def look(self):
        rows = [row.split() for row in self.points("--list").splitlines()]
        visits = next(int(row[-1]) for row in rows if row and row[0] == self.meter)
        return Look(visits, time.monotonic(), processes.cpu_times(processes.descendants(self.process.pid)))

    def speed(self, seconds, has_point):
        if has_point:
            self.said = self.points("--add=" + self.place)
        before = self.look()
        time.sleep(seconds)
        after = self.look()
        if has_point:
            self.points("--remove=" + self.place)
        return between(before, after)

    def speeds(self, seconds, pairs):
        """Pairs under one load: without the point, and with it."""
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            load = None if self.server.asks_itself else pool.submit(self.server.drive, AFTER, 2 * pairs * (seconds + _CHANGE_S) + 2)
            time.sleep(1)  # until all connections ask
            found = [in_order(lambda has_point: self.speed(seconds, has_point), pair) for pair in range(pairs)]
            if load and load.done():
                raise processes.Failed("the load ended before the last pair of rates; read %s" % self.server.log("load"))
            if load:
                load.result()
        return found


@dataclasses.dataclass(frozen=True)
class Look:
    visits: int   # of the meter
    at_s: float
    cpu_s: dict   # by process


def between(before, after):
    """The speed from one look to the next. What processes took that have ended meanwhile is not known."""
    visits = after.visits - before.visits
    cpu_s = sum(taken - before.cpu_s.get(pid, 0) for pid, taken in after.cpu_s.items())
    return Speed(visits / (after.at_s - before.at_s), cpu_s / visits * 1e6 if visits else None)


def in_order(speed, pair):
    """(Speed without the point, speed with it); every other pair has it first."""
    speeds = {has_point: speed(has_point) for has_point in ((False, True) if pair % 2 == 0 else (True, False))}
    return speeds[False], speeds[True]


@dataclasses.dataclass
class Block:
    bare: list   # rates
    pairs: list  # of speeds: without the point, and with it
    said: str = ""


def measure(kind, place, meter, chosen, coz):
    """The blocks."""
    server = kind(chosen.folder, servers.free_port())
    try:
        servers.build(server, chosen)
        blocks = []
        for _ in range(chosen.blocks):
            bare = bare_rates(server, chosen)
            with Session(server, coz, place, meter) as counted:
                pairs = counted.speeds(chosen.run_seconds, chosen.pairs)
                blocks.append(Block(bare, pairs, counted.said.strip()))
        return blocks
    finally:
        processes.end_all()
        server.clean()


def bare_rates(server, chosen):
    if server.asks_itself:
        return [server.drive(AFTER, chosen.run_seconds) for _ in range(_BARE_RUNS)]
    process = processes.start([*server.user_prefix(), *server.command(AFTER)], server.log("server"), cwd=server.folder)
    try:
        processes.wait_until(lambda: process.poll() is not None or server.is_ready(), 60, server.name + "'s first answer")
        server.fill(AFTER)
        return [server.drive(AFTER, 1) for _ in range(_BARE_RUNS)]
    finally:
        processes.end(process, server.stop_signal, 20)


def quartiles(ratios):
    """The median, with the quartiles where there are enough."""
    ratios = sorted(ratios)
    quarter = len(ratios) // 4
    return "%.3f [%.3f, %.3f]" % (statistics.median(ratios), ratios[quarter], ratios[-1 - quarter])


def row(server, place, blocks):
    pairs = [pair for block in blocks for pair in block.pairs]
    rates = [counted.rate / without.rate for without, counted in pairs]
    cpu = [counted.cpu_us / without.cpu_us for without, counted in pairs if without.cpu_us and counted.cpu_us]
    to_bare = [
        statistics.median(counted.rate for _, counted in block.pairs) / statistics.median(block.bare) for block in blocks
    ]
    return "| %s | `%s` | %s | %.0f | %s | %s | %s |" % (
        server, place, blocks[-1].said.split("is counted by ")[-1], statistics.median(r for block in blocks for r in block.bare),
        quartiles(rates), quartiles(cpu) if cpu else "unknown", quartiles(to_bare))


def main(arguments):
    chosen = options(arguments)
    chosen.folder.mkdir(parents=True, exist_ok=True)
    coz = chosen.coz or servers.installed_coz(chosen.folder)
    wanted = [name for name in chosen.only.split(",") if name]
    print("| server | point | counted by | bare requests/s | rate with / without the point | CPU time of a request, the same | "
          "rate with / bare |\n|---|---|---|---|---|---|---|", flush=True)
    failed = False
    for name, place, meter in _POINTS:
        if wanted and not any(name.startswith(want) or place.startswith(want) for want in wanted):
            continue
        kind = next(kind for kind in _KINDS if kind.name == name)
        try:
            print(row(name, place, measure(kind, place, meter, chosen, coz)), flush=True)
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
