"""Measures one program of the paper: its real gain, what coz ranks first, and what it predicts."""
import json
import math
import os
import re
import subprocess

import original
from program import AFTER, BEFORE, ORIGINAL
from other_benches import intervals, processes, under_coz

_RUN_LIMIT_S = 300


class Measurement:
    def __init__(self, program, coz, pairs, seconds, say):
        self.program = program
        self.coz = coz
        self.pairs = pairs
        self.seconds = seconds
        self.say = say

    def fill(self, row):
        program = self.program
        row.real = self._real()
        if not program.unlike:
            self._predict(row)
        ranked = self._profile("ranked", BEFORE, self.seconds, ["--unit=line"])
        row.place, row.first, row.slope = rank(ranked, program.point, program.named)
        if program.spins:
            row.freed = freed(ranked, program.named)
        if program.peer:
            text, failed = original.profile(program, program.peer, self.seconds, ORIGINAL)
            found = original.lines(text)
            row.original = original.rank(found, program.named_lines())
            row.original_lines = sum(1 for estimate, _ in found.values() if estimate)
            row.original_failed = failed
        return row

    def _predict(self, row):
        try:
            row.share = self._share()
            row.predicted = self._predicted(row.share)
        except processes.Failed as failure:
            row.failure = str(failure)  # the lines may be ranked all the same

    def _rate(self, variant):
        log = self.program.folder / ("%s.log" % variant)
        return self.program.rate(self.program.run(variant, [], _RUN_LIMIT_S, log))

    def _real(self):
        rounds = []
        for number in range(self.pairs):
            order = (BEFORE, AFTER) if number % 2 == 0 else (AFTER, BEFORE)
            rates = {variant: self._rate(variant) for variant in order}
            rounds.append((rates[BEFORE], rates[AFTER]))
            self.say("%s, round %d: after the change %.3f times as fast" % (self.program.name, number + 1, rates[AFTER] / rates[BEFORE]))
        return intervals.gain(rounds)

    def _profile(self, name, variant, seconds, choices):
        """The report of a profile of runs of `seconds` together."""
        output = self.program.folder / (name + ".pb")
        output.unlink(missing_ok=True)
        log = self.program.folder / (name + ".log")
        times = max(1, math.ceil(seconds / self.program.run_s))
        self.program.run(variant, [self.coz, "run", "-o", output, *self.program.coz_options, "--repeat=%d" % times, *choices, "---"],
                         10 * seconds + _RUN_LIMIT_S, log)
        done = subprocess.run([self.coz, "report", "--json", output], capture_output=True, text=True, check=False)
        if not done.stdout:
            raise processes.Failed("coz report cannot read %s: %s" % (output, done.stderr.strip()))
        return json.loads(done.stdout)

    def _unit_options(self):
        return ["--unit=function", *(word for pattern in self.program.patterns for word in ("--group", "%s=%s" % (self.program.unit, pattern)))]

    def _share(self):
        """By which part of its CPU time for a visit the change makes the unit faster."""
        if self.program.share:
            return self.program.share
        ns = [under_coz.unit_ns_per_visit(self._profile("cost-" + variant, variant, self.program.cost_s, [*self._unit_options(), "--fixed-speedup=0"]),
                                          [self.program.unit], self.program.point) for variant in (BEFORE, AFTER)]
        self.say("%s: %s takes %.2f us a visit before, and %.2f after" % (self.program.name, self.program.unit, ns[0] / 1e3, ns[1] / 1e3))
        if ns[1] >= ns[0]:
            raise processes.Failed("the change does not make %s cheaper: %.2f us a visit before, %.2f after" %
                                   (self.program.unit, ns[0] / 1e3, ns[1] / 1e3))
        return 1 - ns[1] / ns[0]

    def _predicted(self, share):
        speedups = under_coz.speedups_around(share)
        report = self._profile("predicted", BEFORE, self.seconds, [*self._unit_options(), "--fixed-line", self.program.unit,
                                                                   "--fixed-speedup", ",".join(map(str, speedups))])
        return under_coz.prediction(report, self.program.unit, self.program.point, share)


def rank(report, point, named):
    """(place of the first line that the paper names, the first line, slope of the former) by the size of the slope."""
    lines = next((p["lines"] for p in report["points"] if p["name"] == point), [])
    known = sorted((line for line in lines if line["verdict"] not in ("cannot_tell", "no_effect")),
                   key=lambda line: -abs(line["slope"]["value"]))
    units = [report["units"][line["unit"]] for line in known]
    names = [_name(unit) for unit in units]
    for place, (line, name) in enumerate(zip(known, names), 1):
        if re.search(named, name):
            return place, names[0], intervals.Interval(**line["slope"])
    return None, names[0] if names else "", None


def freed(report, named):
    """About the gain, by the report, where the named lines give up the CPU on which they wait; or None."""
    spinning = [_name(unit) for unit in report["units"] if unit.get("spinning_samples")]
    if not any(re.search(named, name) for name in spinning):
        return None
    return report["totals"]["freed_by_giving_up_cpus"] or None


def _name(unit):
    return "%s %s" % (os.path.basename(unit["name"]), unit["function"])
