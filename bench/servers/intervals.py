"""Means of a few figures with their 95 % intervals, by Student's t.

Rates are requests a second. A gain is the program speedup that coz predicts too: the share of a request's time that is
saved, 1 - rate before / rate after.
"""
import dataclasses
import math
import statistics

# 97.5 % quantiles of Student's t for 1 to 30 degrees of freedom; beyond that the next smaller row of the usual table.
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
      2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042)
_T_BEYOND = ((120, 1.980), (60, 2.000), (40, 2.021), (30, 2.042))


@dataclasses.dataclass(frozen=True)
class Interval:
    """A figure and the bounds of its 95 % interval, which are infinite where one measurement alone tells it."""
    value: float
    low: float
    high: float

    def scaled(self, factor):
        return Interval(self.value * factor, self.low * factor, self.high * factor)


def t_quantile(degrees):
    """97.5 % quantile of Student's t; a little too large between the rows of the table, never too small."""
    if degrees < 1:
        return math.inf
    if degrees <= len(_T):
        return _T[degrees - 1]
    return next(t for from_degrees, t in _T_BEYOND if degrees >= from_degrees)


def mean_interval(figures):
    """The mean of `figures`, which are not none."""
    mean = statistics.fmean(figures)
    if len(figures) < 2:
        return Interval(mean, -math.inf, math.inf)
    half = t_quantile(len(figures) - 1) * statistics.stdev(figures) / math.sqrt(len(figures))
    return Interval(mean, mean - half, mean + half)


def gain(pairs):
    """Of pairs (rate before, rate after), each measured in turn."""
    return mean_interval([1 - before / after for before, after in pairs])


def ratio(pairs):
    """Mean of second / first, for pairs that were measured in turn."""
    return mean_interval([second / first for first, second in pairs])


def agree(one, other):
    """Whether two intervals have a value in common."""
    return one.low <= other.high and other.low <= one.high


def at(points, where):
    """The interval at `where` between `points` (place, Interval), ascending, by straight lines.

    Beyond the last point the last line goes on; before the first, the first counts.
    """
    if where < points[0][0] or len(points) == 1:
        return points[0][1]
    for (left, low), (right, high) in zip(points, points[1:]):
        if left <= where <= right or right == points[-1][0]:
            part = (where - left) / (right - left)
            return Interval(*(a + part * (b - a) for a, b in
                              ((low.value, high.value), (low.low, high.low), (low.high, high.high))))
    raise ValueError("the points are not ascending")
