"""Profiles of the original Coz: when its experiments ended, and what a line's slope is by those made so far.

The original records no times. Its experiments are taken to fill the run in proportion to their durations. A line's slope
is by least squares through the origin, over the speedups of which there is a figure, as in its paper; the standard error
is by the distances from that line."""
import math

_LEAST_SPEEDUPS = 3
_TOO_LONG_NS = 24 * 3600e9  # it subtracts delays in unsigned numbers: below zero reads as centuries


def _fields(line):
    return dict(part.split("=", 1) for part in line.split("\t")[1:] if "=" in part)


def experiments(text, seconds):
    """(seconds since the start, line, speedup, duration in ns, visits to all points) of each experiment with a visit."""
    found = []
    for row in text.splitlines():
        kind = row.split("\t", 1)[0]
        fields = _fields(row)
        if kind == "experiment":
            found.append([fields["selected"], float(fields["speedup"]), float(fields["duration"]), 0])
        elif kind == "throughput-point" and found:
            found[-1][3] += float(fields["delta"])
    found = [row for row in found if row[2] < _TOO_LONG_NS and row[3] > 0]
    whole = sum(duration for _, _, duration, _ in found)
    ended = 0
    out = []
    for line, speedup, duration, visits in found:
        ended += duration
        out.append((seconds * ended / whole, line, speedup, duration, visits))
    return out


def slope(rows):
    """(value, half of the 95 % interval) by (speedup, duration, visits); None where they cannot tell."""
    sums = {}
    for speedup, duration, visits in rows:
        total = sums.setdefault(round(speedup, 4), [0, 0])
        total[0] += duration
        total[1] += visits
    if 0 not in sums:
        return None
    base = sums[0][0] / sums[0][1]
    points = [(s, 1 - duration / visits / base) for s, (duration, visits) in sums.items() if s > 0]
    if len(points) < _LEAST_SPEEDUPS:
        return None
    squares = sum(s * s for s, _ in points)
    value = sum(s * gain for s, gain in points) / squares
    left = sum((gain - value * s)**2 for s, gain in points) / (len(points) - 1)
    return value, 1.96 * math.sqrt(left / squares)


def settled_lines(found, until_s, width, no_effect):
    """The lines whose 95 % interval of the slope is at most `width` wide, leaves out 0, or is all within ±no_effect."""
    by_line = {}
    for ended, line, speedup, duration, visits in found:
        if ended <= until_s:
            by_line.setdefault(line, []).append((speedup, duration, visits))
    settled = set()
    for line, rows in by_line.items():
        estimate = slope(rows)
        if estimate is None:
            continue
        low, high = estimate[0] - estimate[1], estimate[0] + estimate[1]
        if high - low <= width or low > 0 or high < 0 or (low >= -no_effect and high <= no_effect):
            settled.add(line)
    return settled
