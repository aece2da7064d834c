"""Sessions below `coz run`, and what `coz report --json` says of them."""
import json
import re
import shutil
import subprocess

import intervals
import processes
import session
from server import HERE

_SPEEDUPS = 5  # fewer different ones, and coz sets a unit aside
_NOTHING_MEASURED = 3  # status of a report: a change may leave a function without a sample
_STEP = 5      # percent
_PYTHON = "/usr/bin/python3"  # that every user can run


class Coz:
    """The coz that profiles: `program`, with `options` added to each run."""

    def __init__(self, program, options, folder):
        self.program = program
        self.options = options
        self.sources = folder / "session"
        # An ordinary user may not be able to read the source tree.
        shutil.rmtree(self.sources, ignore_errors=True)
        self.sources.mkdir(parents=True)
        for source in HERE.glob("*.py"):
            shutil.copy(source, self.sources)

    def run(self, server, variant, seconds, followed, output, options):
        """One session below coz, into the profile `output`; requests per second. `options` say what is tried."""
        command = [self.program, "run", "--follow=all", "-o", output, "-b", server.binary, *server.point_options, *options,
                   *self.options, "---"]
        if not (followed or server.asks_itself):
            return session.run(server, variant, seconds, command)
        log = server.log("followed-" + variant)
        return rate_of_session(processes.run(
            [*server.user_prefix(), *command, _PYTHON, self.sources / "session.py", server.name, variant, seconds, server.port,
             server.base], 10 * seconds + 120, log, cwd=server.folder))

    def text(self, profile):
        """The report that people read."""
        return subprocess.run([self.program, "report", "--lines=10", "--width=120", profile], capture_output=True, text=True,
                              check=False).stdout

    def report(self, profile):
        done = subprocess.run([self.program, "report", "--json", profile], capture_output=True, text=True, check=False)
        if done.returncode not in (0, _NOTHING_MEASURED):
            raise processes.Failed("coz report cannot read %s: %s" % (profile, done.stderr.strip()))
        return json.loads(done.stdout)


def rate_of_session(output):
    found = re.search(r"^requests per second: ([\d.]+)$", output, re.M)
    if not found:
        raise processes.Failed("session.py printed no rate but: %s" % output.strip()[-300:])
    return float(found.group(1))


def speedups_around(unit_speedup):
    """What to try for a prediction at `unit_speedup` (a fraction): percents up to the next step beyond it, 0 first."""
    last = max(_STEP * _SPEEDUPS, min(100, -(-100 * unit_speedup // _STEP) * _STEP))
    return [0] + [int(last) - _STEP * back for back in reversed(range(_SPEEDUPS))]


def _is_unit(unit, name):
    return name in (unit["name"], unit["function"]) or unit["name"].split("(")[0] == name


def _point(report, name):
    for point in report["points"]:
        if point["name"] == name:
            return point
    raise processes.Failed("the profile has no progress point %s, but: %s" %
                           (name, ", ".join(p["name"] for p in report["points"]) or "none"))


def unit_ns_per_visit(report, units, point):
    """CPU time of the units together for each visit, by their samples; 0 where they have none."""
    visits = _point(report, point)["visits"]
    if not visits:
        raise processes.Failed("the progress point %s was not visited" % point)
    samples = sum(u["samples"] for u in report["units"] if any(_is_unit(u, unit) for unit in units))
    return samples * report["sessions"][0]["sampling_period_ns"] / visits


def inserted_delay_s(report):
    return sum(s["end"]["inserted_delay_ns"] for s in report["sessions"] if s["end"]) / 1e9


def without_delays(rate, load_s, delay_s):
    """Requests per second of the time that no delay took."""
    return rate * load_s / (load_s - delay_s) if delay_s < load_s else float("inf")


def prediction(report, unit, point, unit_speedup):
    """Program speedup predicted for a unit that is so much faster, with its interval."""
    found = _point(report, point)
    for line in found["lines"]:
        if _is_unit(report["units"][line["unit"]], unit):
            curve = [(p["virtual_speedup"], intervals.Interval(**p["program_speedup"])) for p in line["curve"]["points"]]
            return intervals.at(curve, unit_speedup)
    for line in found["set_aside"]:
        if _is_unit(report["units"][line["unit"]], unit):
            raise processes.Failed("coz has no figure for %s: %s" % (unit, line["sentence"]))
    raise processes.Failed("the profile has no experiment with %s" % unit)
