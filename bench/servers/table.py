"""The table of the bench, as text and as Markdown."""
import math

HEADINGS = ("server", "load", "load is", "bare, requests/s", "sampled ÷ bare", "with delays ÷ bare", "change", "function",
            "is faster by", "predicted", "of it alone", "real", "agree")
# An interval with more points on either side tells nothing of whether the two agree.
_WIDEST = 0.2
_FIGURES = {3, 4, 5, 8, 9, 10, 11}  # columns on the right


def rate(interval):
    if math.isinf(interval.high):
        return "%.0f" % interval.value
    return "%.0f ± %.0f" % (interval.value, interval.high - interval.value)


def factor(interval):
    if math.isinf(interval.high):
        return "%.2f" % interval.value
    return "%.2f ± %.2f" % (interval.value, interval.high - interval.value)


def percent(interval):
    """Of a program speedup, with its bounds where they are known."""
    if math.isinf(interval.high) or math.isinf(interval.low):
        return "%.1f %%" % (100 * interval.value)
    return "%.1f %% (%.1f to %.1f)" % (100 * interval.value, 100 * interval.low, 100 * interval.high)


def _or_empty(form, value):
    return "" if value is None else form(value)


def cells(row, agree):
    """A row's texts in the order of HEADINGS; `agree` tells whether two intervals meet."""
    return (row.server, row.load, {True: "followed", False: "not followed", None: ""}[row.followed],
            _or_empty(rate, row.bare), _or_empty(factor, row.sampled), _or_empty("{:.2f}".format, row.delayed),
            "%s (%s)" % (row.change, row.kind), row.unit, _or_empty("{:.0%}".format, row.unit_speedup),
            _or_empty(percent, row.predicted), _or_empty("{:.1%}".format, row.of_unit_alone).replace("%", " %"),
            _or_empty(percent, row.real),
            _verdict(row, agree))


def _verdict(row, agree):
    if row.predicted is None or row.real is None:
        return ""
    if max((interval.high - interval.low) / 2 for interval in (row.predicted, row.real)) > _WIDEST:
        return "too wide"
    return "yes" if agree(row.predicted, row.real) else "no"


def markdown(rows, agree):
    lines = ["| " + " | ".join(HEADINGS) + " |",
             "|" + "|".join("--:" if i in _FIGURES else "---" for i in range(len(HEADINGS))) + "|"]
    lines += ["| " + " | ".join(cells(row, agree)) + " |" for row in rows]
    return "\n".join(lines + _failures(rows, "* "))


def text(rows, agree):
    """Columns of their own width; those that are empty in all rows are left out."""
    table = [HEADINGS] + [cells(row, agree) for row in rows]
    columns = [i for i in range(len(HEADINGS)) if any(line[i] for line in table[1:])]
    widths = {i: max(len(line[i]) for line in table) for i in columns}
    lines = ["  ".join(line[i].rjust(widths[i]) if i in _FIGURES else line[i].ljust(widths[i]) for i in columns).rstrip()
             for line in table]
    return "\n".join(lines + _failures(rows, ""))


def _failures(rows, bullet):
    failed = list(dict.fromkeys("%s%s: %s" % (bullet, row.server, row.failure) for row in rows if row.failure))
    return [""] + failed if failed else []
