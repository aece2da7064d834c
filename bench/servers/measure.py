"""Measures one server: its rates, what its change really brings, and what coz predicts."""
import dataclasses

import intervals
import processes
import session
import under_coz
from server import AFTER, BEFORE

_COST_RUNS = 2  # of load as long as that of so many runs


@dataclasses.dataclass
class Row:
    """One line of the table. What was not measured is None; `failure` says what went wrong."""
    server: str
    load: str
    followed: object = None       # whether the load generator is profiled, too; None where there is none beside
    bare: object = None           # Interval, requests per second
    sampled: object = None        # Interval, of the bare rate: without delays
    delayed: object = None        # of the bare rate: with delays, less their time
    change: str = ""
    kind: str = ""
    unit: str = ""
    unit_speedup: object = None   # what the change brings the unit: a fraction
    predicted: object = None      # Interval, program speedup
    real: object = None           # Interval, program speedup
    of_unit_alone: object = None  # program speedup by what the change saves the unit of its CPU time
    failure: str = ""


@dataclasses.dataclass
class Effort:
    """How long and how often to measure."""
    pairs: int         # rounds of runs in turn
    run_seconds: float # of load in each run
    seconds: float     # of load in a profile
    bare_only: bool
    quota: float = 0   # CPUs; 0: none
    sampled_only: bool = False  # rates bare and sampled, and neither the change nor a prediction


def followings(server, wanted):
    """How the load generator is dealt with, one row each: followed or not; of a program that asks itself neither."""
    return [None] if server.asks_itself else wanted


class Measurement:
    def __init__(self, server, coz, effort, say):
        self.server = server
        self.coz = coz
        self.effort = effort
        self.say = say

    def rows(self, wanted_followings):
        ways = followings(self.server, wanted_followings)
        rows = [Row(self.server.name, self.server.load, way, change=self.server.change, kind=self.server.kind,
                    unit=self.server.unit) for way in ways]
        try:
            self._in_turn(rows)
        except processes.FAILURES as failure:
            for row in rows:
                row.failure = str(failure)
            return rows
        if not (self.effort.bare_only or self.effort.sampled_only):
            for row in rows:
                try:
                    self._predict(row)
                except processes.FAILURES as failure:
                    row.failure = str(failure)
        return rows

    def all_units(self, wanted_followings):
        """A profile in which every line may be tried, for each way of the load: its report, with the rate meanwhile."""
        for way in followings(self.server, wanted_followings):
            output = self._profile("all-units", way)
            rate = self.coz.run(self.server, BEFORE, self.effort.seconds, way, output, list(self.server.line_options))
            yield "%s, %s, %s: %.0f requests/s\n%s" % (self.server.name, self.server.load, self._way(way), rate,
                                                      self.coz.text(output))

    def _in_turn(self, rows):
        """Bare before and after the change, and sampled: rounds of one run each, of which every other goes backwards."""
        changed = [] if self.effort.bare_only or self.effort.sampled_only else [AFTER]
        sampled = [] if self.effort.bare_only else [row.followed for row in rows]
        names = [BEFORE] + changed + sampled
        rounds = []
        for number in range(self.effort.pairs):
            order = names if number % 2 == 0 else names[::-1]
            rates = {name: self._rate(name) for name in order}
            rounds.append(rates)
            self.say("%s, round %d: %s requests/s" % (self.server.name, number + 1, ", ".join(
                "%s %.0f" % (self._way(name), rates[name]) for name in names)))
        for row in rows:
            row.bare = intervals.mean_interval([rates[BEFORE] for rates in rounds])
            if sampled:
                row.sampled = intervals.ratio([(rates[BEFORE], rates[row.followed]) for rates in rounds])
            if changed:
                row.real = intervals.gain([(rates[BEFORE], rates[AFTER]) for rates in rounds])

    def _rate(self, name):
        if name in (BEFORE, AFTER):
            return session.run(self.server, name, self.effort.run_seconds)
        return self.coz.run(self.server, BEFORE, self.effort.run_seconds, name, self._profile("sampled", name),
                            self._options("--fixed-speedup=0"))

    def _predict(self, row):
        saved_ns, row.unit_speedup, sampled_rate = self._saved(row.followed)
        cpus = self.effort.quota or self.server.busy_cpus
        if cpus:  # each request takes its CPU time, by the CPUs that it may take
            row.of_unit_alone = saved_ns * 1e-9 * sampled_rate / cpus
        speedups = under_coz.speedups_around(row.unit_speedup)
        output = self._profile("predicted", row.followed)
        rate = self.coz.run(self.server, BEFORE, self.effort.seconds, row.followed, output,
                            self._options("--fixed-line", self.server.unit, "--fixed-speedup", ",".join(map(str, speedups))))
        report = self.coz.report(output)
        delay_s = under_coz.inserted_delay_s(report)
        self.say("%s, %s: %.0f requests/s with %.1f s of delays in %.0f s" %
                 (self.server.name, self._way(row.followed), rate, delay_s, self.effort.seconds))
        row.delayed = under_coz.without_delays(rate, self.effort.seconds, delay_s) / row.bare.value
        row.predicted = under_coz.prediction(report, self.server.unit, self.server.point, row.unit_speedup)

    def _saved(self, followed):
        """What the change saves the unit of its CPU time for a request: ns, and which part; by samples without delays. And
        requests per second meanwhile, before the change."""
        unit, helpers = self.server.unit, self.server.counted_with
        before, rate = self._cost(BEFORE, followed)
        after, _ = self._cost(AFTER, followed)
        of_unit_ns = under_coz.unit_ns_per_visit(before, [unit], self.server.point)
        before_ns = under_coz.unit_ns_per_visit(before, [unit, *helpers], self.server.point)
        after_ns = under_coz.unit_ns_per_visit(after, [unit, *helpers], self.server.point)
        self.say("%s: a request has %.1f us of %s, and %.1f us less after the change" %
                 (self.server.name, of_unit_ns / 1e3, unit, (before_ns - after_ns) / 1e3))
        if before_ns <= after_ns or not of_unit_ns:
            raise processes.Failed("the change does not make %s cheaper: it takes %.1f us for a request before and %.1f after" %
                                   (unit, before_ns / 1e3, after_ns / 1e3))
        return before_ns - after_ns, min(1, (before_ns - after_ns) / of_unit_ns), rate

    def _cost(self, variant, followed):
        output = self._profile("cost-" + variant, followed)
        rate = self.coz.run(self.server, variant, _COST_RUNS * self.effort.run_seconds, followed, output,
                            self._options("--fixed-speedup=0"))
        return self.coz.report(output), rate

    def _options(self, *options):
        return [*self.server.unit_options, *options]

    def _profile(self, what, followed):
        return self.server.folder / ("%s-%s-%s.pb" % (self.server.name, what, self._way(followed).replace(" ", "-")))

    @staticmethod
    def _way(name):
        return {True: "load followed", False: "load beside", None: "under coz"}.get(name, name)
