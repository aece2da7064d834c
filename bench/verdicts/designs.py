#!/usr/bin/env python3
"""One line in an experiment, or a random half of all lines at once: which settles more lines in a minute?

    bench/verdicts/designs.py [--seconds=60] [--lines=20] [--noise=0.045] [--programs=40]

Programs are formulas: the time of a visit by the speedups of all lines. Experiments of 0.1 s differ by noise that
wanders, as measured (docs/design/experiments.md). Design "one" speeds up one line in an experiment, by 5 to 100 %, with one
baseline in four. Design "half" speeds up a random half of the lines by the same amount. Least squares over all
experiments, with a level for each ten of them, give slopes and 95 % intervals. Settled: the interval lies within 0.1 of
0, or leaves out 0. Wrong: settled, and what making that line alone faster gives is another verdict.
"""
import argparse
import math
import random

_PER_EXPERIMENT_S = 0.12
_BLOCK = 10
_NO_EFFECT = 0.1


def independent(shares):
    """Threads that share nothing: effects add."""
    def time(speedups):
        return sum(share * (1 - s) for share, s in zip(shares, speedups))
    return time


def meeting(shares):
    """Two equal threads that meet: the slower one counts, so no line alone gains anything."""
    def time(speedups):
        sides = [0.0, 0.0]
        whole = [sum(shares[0::2]), sum(shares[1::2])]
        for i, (share, s) in enumerate(zip(shares, speedups)):
            sides[i % 2] += share * (1 - s) / whole[i % 2]
        return max(sides)
    return time


def pipeline(shares):
    """Three stages, of which the first takes 1 and the others 0.8: a stage counts until another is slower."""
    def time(speedups):
        sides = [0.0, 0.0, 0.0]
        whole = [sum(shares[k::3]) for k in range(3)]
        for i, (share, s) in enumerate(zip(shares, speedups)):
            sides[i % 3] += share * (1 - s) / whole[i % 3] * (1 if i % 3 == 0 else 0.8)
        return max(sides)
    return time


def draw_shares(lines, rng):
    weights = [1 / (i + 1) for i in range(lines)]
    rng.shuffle(weights)
    return [w / sum(weights) for w in weights]


def wandering_noise(count, size, rng):
    """Noise whose neighbours differ by `size`, and whose level wanders as much in ten experiments."""
    level = 0.0
    noise = []
    for _ in range(count):
        level += rng.gauss(0, size / math.sqrt(_BLOCK))
        noise.append(level + rng.gauss(0, size))
    return noise


def inverse(matrix):
    n = len(matrix)
    rows = [list(row) + [1.0 if i == j else 0.0 for j in range(n)] for i, row in enumerate(matrix)]
    for column in range(n):
        pivot = max(range(column, n), key=lambda r: abs(rows[r][column]))
        if abs(rows[pivot][column]) < 1e-12:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        scale = rows[column][column]
        rows[column] = [value / scale for value in rows[column]]
        for r in range(n):
            if r != column and rows[r][column]:
                factor = rows[r][column]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[column])]
    return [row[n:] for row in rows]


def without_levels(rows):
    """Takes the mean of each block off all columns."""
    out = []
    for start in range(0, len(rows) - _BLOCK + 1, _BLOCK):
        block = rows[start:start + _BLOCK]
        means = [sum(column) / _BLOCK for column in zip(*block)]
        out += [[value - mean for value, mean in zip(row, means)] for row in block]
    return out


def slopes(speedups, times):
    """(slope, half width) of each line; None where experiments cannot tell."""
    lines = len(speedups[0])
    rows = without_levels([x + [t] for x, t in zip(speedups, times)])
    tried = [i for i in range(lines) if sum(abs(row[i]) for row in rows) > 1e-9]
    normal = [[sum(row[i] * row[j] for row in rows) for j in tried] for i in tried]
    inverted = inverse(normal)
    if inverted is None:
        return [None] * lines
    right = [sum(row[i] * row[-1] for row in rows) for i in tried]
    fitted = [sum(a * b for a, b in zip(line, right)) for line in inverted]
    squares = sum((row[-1] - sum(row[i] * b for i, b in zip(tried, fitted)))**2 for row in rows)
    freedom = len(rows) - len(rows) // _BLOCK - len(tried)
    out = [None] * lines
    for k, i in enumerate(tried):
        out[i] = (-fitted[k], 1.97 * math.sqrt(squares / freedom * inverted[k][k]))
    return out


def plan_one(count, shares, rng):
    plan = []
    for number in range(count):
        row = [0.0] * len(shares)
        # Half of the experiments by samples; the other half goes round.
        line = rng.choices(range(len(shares)), shares)[0] if number % 2 else number // 2 % len(shares)
        if rng.random() >= 0.25:
            row[line] = rng.randrange(1, 21) / 20
        plan.append(row)
    return plan


def plan_half(amount):
    def plan(count, shares, rng):
        rows = []
        for _ in range(count):
            rows.append([amount if rng.random() < 0.5 else 0.0 for _ in shares])
        return rows
    return plan


def verdict(low, high):
    if -_NO_EFFECT <= low and high <= _NO_EFFECT:
        return "no gain"
    if low > 0:
        return "gain"
    return "loss" if high < 0 else None


def alone(time, line, lines):
    """What making this line alone faster gives, by the mean slope over its curve."""
    base = time([0.0] * lines)
    points = [k / 20 for k in range(1, 21)]
    effects = [1 - time([s if i == line else 0.0 for i in range(lines)]) / base for s in points]
    return sum(s * e for s, e in zip(points, effects)) / sum(s * s for s in points)


def run(program, plan, arguments, rng):
    """(settled, wrong) lines of one program."""
    shares = draw_shares(arguments.lines, rng)
    time = program(shares)
    count = int(arguments.seconds / _PER_EXPERIMENT_S)
    speedups = plan(count, shares, rng)
    base = time([0.0] * arguments.lines)
    noise = wandering_noise(count, arguments.noise, rng)
    found = slopes(speedups, [time(x) / base + n for x, n in zip(speedups, noise)])
    settled = wrong = 0
    for line, estimate in enumerate(found):
        said = estimate and verdict(estimate[0] - estimate[1], estimate[0] + estimate[1])
        if not said:
            continue
        settled += 1
        truth = alone(time, line, arguments.lines)
        # A line at the edge may be called either.
        right = {"no gain": truth <= 1.2 * _NO_EFFECT, "gain": truth > 0.01, "loss": False}[said]
        wrong += not right
    return settled, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--lines", type=int, default=20)
    parser.add_argument("--noise", type=float, default=0.045, help="of an experiment, as a share")
    parser.add_argument("--programs", type=int, default=40, help="random ones of each kind")
    arguments = parser.parse_args()
    designs = {"one": plan_one, "half, 10 %": plan_half(0.1), "half, 25 %": plan_half(0.25), "half, 50 %": plan_half(0.5)}
    print(f"{'program':<12} {'design':<11} {'settled':>8} {'wrong':>6}  of {arguments.lines} lines in {arguments.seconds:g} s")
    for program in (independent, meeting, pipeline):
        for name, plan in designs.items():
            rng = random.Random(25)
            results = [run(program, plan, arguments, rng) for _ in range(arguments.programs)]
            settled, wrong = (sum(column) / len(results) for column in zip(*results))
            print(f"{program.__name__:<12} {name:<11} {settled:>8.1f} {wrong:>6.1f}", flush=True)


if __name__ == "__main__":
    main()
