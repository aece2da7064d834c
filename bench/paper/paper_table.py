"""The table of the bench, as text and as Markdown."""
import dataclasses

from other_benches import intervals, table

HEADINGS = ("program", "paper: line", "paper: gain", "its place here", "first here", "unit faster by", "predicted", "real", "agree",
            "the original")


@dataclasses.dataclass
class Row:
    """A line of the table. What was not measured is None; `failure` says what went wrong."""
    program: object
    real: object = None         # Interval, program speedup
    share: object = None        # by which the change makes the unit faster
    predicted: object = None    # Interval, program speedup
    freed: object = None        # of a loop that waits on its CPU: about the gain where it gives up its CPU
    place: object = None        # of the paper's line in coz's ranking, from 1
    first: str = ""             # line in that ranking
    slope: object = None        # Interval, of the paper's line
    original: object = None     # (place, slope, half of its interval) of the paper's line in the original's profile
    original_lines: int = 0     # of which it has a slope
    original_failed: int = 0    # its runs that did
    failure: str = ""


def _original(row):
    if not row.program.peer:
        return ""
    said = "no figure" if row.original is None else "place %d, slope %.2f ± %.2f" % row.original
    failed = ", %d runs failed" % row.original_failed if row.original_failed else ""
    return "%s (of %d lines%s)" % (said, row.original_lines, failed)


def _place(row):
    if row.place is not None:
        return str(row.place)
    return "-" if row.freed is None else "in a note"


def _predicted(row):
    if row.predicted is not None:
        return table.percent(row.predicted)
    return "" if row.freed is None else "some %.0f %%" % (100 * row.freed)


def cells(row):
    agree = "" if row.predicted is None or row.real is None else "yes" if intervals.agree(row.predicted, row.real) else "no"
    return ("%s: %s" % (row.program.name, row.program.change), row.program.paper_line, row.program.paper_gain,
            _place(row), row.first, "" if row.share is None else "%.0f %%" % (100 * row.share), _predicted(row),
            "" if row.real is None else table.percent(row.real), agree, _original(row))


def markdown(rows):
    lines = ["| " + " | ".join(HEADINGS) + " |", "|" + "---|" * len(HEADINGS)]
    return "\n".join(lines + ["| " + " | ".join(cells(row)) + " |" for row in rows] + _failures(rows, "* "))


def text(rows):
    """A block for each program, since its lines are long."""
    blocks = []
    for row in rows:
        blocks.append("\n".join("%-16s %s" % (heading, cell) for heading, cell in zip(HEADINGS, cells(row)) if cell))
    return "\n\n".join(blocks + _failures(rows, ""))


def _failures(rows, bullet):
    said = [(row.program.name, sentence) for row in rows for sentence in (row.program.unlike, row.failure) if sentence]
    return ["%s%s: %s" % (bullet, name, sentence) for name, sentence in said]
