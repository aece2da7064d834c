"""The original Coz: Debian's package, unpacked beside, and what its profiles say of some lines."""
import os
import pathlib
import re
import subprocess

from servers_modules import original_profile, processes

_PACKAGES = ("coz-profiler", "libdwarf++0", "libelf++0")
_UNPACK = pathlib.Path(__file__).resolve().parents[2] / "third_party/debian/unpack.sh"


def fetch(folder, say):
    """Its command; None where it cannot be had."""
    place = folder / "original"
    if not list(place.glob("usr/lib/*/libelf++.so*")):
        for package in _PACKAGES:
            if subprocess.run([_UNPACK, package, place], check=False).returncode != 0:
                say("the original is left out")
                return None
    return place / "usr/bin/coz"


def profile(program, peer, seconds, variant):
    """The text of profiles of runs that last `seconds` together, without delays; the number of runs that failed."""
    output = program.folder / "original.coz"
    libraries = ":".join(str(folder) for folder in peer.parents[1].glob("lib/*-linux-gnu"))
    text, failed, spent_s = "", 0, 0.0
    while spent_s < seconds and failed < 2:
        output.unlink(missing_ok=True)
        try:
            program.run(variant, [peer, "run", "--output", output, "--source-scope", "%", "---"], 4 * seconds + 60,
                        program.folder / "original.log", {"LD_LIBRARY_PATH": libraries})
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
