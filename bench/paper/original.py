"""What the original Coz says of some lines of a program."""
import os
import re

from other_benches import original_profile, processes, subjects


def profile(program, peer, seconds, variant):
    """The text of profiles of runs that last `seconds` together, without delays; the number of runs that failed."""
    output = program.folder / "original.coz"
    text, failed, spent_s = "", 0, 0.0
    while spent_s < seconds and failed < 2:
        output.unlink(missing_ok=True)
        try:
            program.run(variant, [peer, "run", "--output", output, "--source-scope", "%", "---"], 4 * seconds + 60,
                        program.folder / "original.log", {"LD_LIBRARY_PATH": subjects.libraries_of(peer)})
        except processes.Failed:
            failed += 1
        found = output.read_text(errors="replace") if output.exists() else ""
        text += found
        run_s = sum(duration for _, _, _, duration, _ in original_profile.experiments(found, 1)) / 1e9
        if run_s <= 0:
            failed += 1
        spent_s += run_s
    return text, failed


def lines(text):
    """{line: ((slope, half of its 95 % interval) or None, experiments)} of a profile."""
    by_line = {}
    for _, line, speedup, duration, visits in original_profile.experiments(text, 1):
        by_line.setdefault(line, []).append((speedup, duration, visits))
    return {line: (original_profile.slope(rows), len(rows)) for line, rows in by_line.items()}


def rank(found, named):
    """(place, slope, half of its interval) of the best of the lines that match `named`, which is for "file:line "; None: no figure."""
    known = sorted(((line, *estimate) for line, (estimate, _) in found.items() if estimate), key=lambda row: -abs(row[1]))
    for place, (line, slope, half) in enumerate(known, 1):
        if re.search(named, os.path.basename(line) + " "):
            return place, slope, half
    return None
