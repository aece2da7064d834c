"""What coz predicts of a function that is compiled while the program runs, and what it really brings. Prints a Markdown table.

Usage: python3 bench/jit/functions.py node|java [--coz=PATH] [--seconds=20] [--pairs=3]
"""
import argparse
import dataclasses
import json
import pathlib
import re
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SPEEDUPS = (25, 50, 75)
_COMPILED_S = 3  # then Java has compiled both functions for good


def output_of(command, folder):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True, cwd=folder).stdout


@dataclasses.dataclass(frozen=True)
class Language:
    command: tuple       # followed by seconds and the share of parse's work that is left
    point: str           # is passed once a round
    function: str        # as its map names it
    needs_jcmd: bool     # it writes its map only when it is asked to


# Without inlining, so that both functions are there as such.
LANGUAGES = {
    "node": Language(("node", "--no-turbo-inlining", "--perf-basic-prof", HERE / "rounds.js"), "uv_fs_write", "parse", False),
    "java": Language(
        ("java", "-XX:+UseSerialGC", "-XX:+PreserveFramePointer", "-XX:CompileCommand=quiet",
         *("-XX:CompileCommand=dontinline,Rounds." + name for name in ("parse", "render")), "-cp", ".", "Rounds"),
        "libjava.so!Java_java_io_FileOutputStream_write", "Rounds.parse(int, int)", True),
}


def real_gain(language, percent, pairs, folder):
    """The share of a round that goes away, in percent; the median of runs in turn."""
    gains = []
    for _ in range(pairs):
        rates = [float(re.search(r"rounds per second: ([\d.]+)", output_of([*language.command, 2, share], folder))[1])
                 for share in (1, 1 - percent / 100)]
        gains.append(100 * (1 - rates[0] / rates[1]))
    return sorted(gains)[len(gains) // 2]


def write_map(folder):
    """Has the Java program that runs in the folder write its map."""
    for line in output_of(["jcmd", "-l"], folder).splitlines():
        pid, _, name = line.partition(" ")
        if name.startswith("Rounds ") and pathlib.Path("/proc", pid, "cwd").resolve() == folder.resolve():
            output_of(["jcmd", pid, "Compiler.perfmap"], folder)


def predicted_gains(language, coz, seconds, folder):
    """By speedup: value and interval, all in percent. Of the time since the function is known: Java's map comes late."""
    profile = folder / "profile.pb"
    command = [coz, "run", "--unit=function", "--binary-scope=JIT", "--progress=" + language.point,
               "--fixed-unit=" + language.function, "--fixed-speedup=0,25,50,75", "--duration=%d" % seconds, "-o", profile,
               "---", *language.command, seconds + 2, 1]
    with subprocess.Popen([str(part) for part in command], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True) as running:
        if language.needs_jcmd:
            time.sleep(_COMPILED_S)
            write_map(folder)
        errors = running.communicate()[1]
    if running.returncode:
        raise SystemExit(errors)
    report = json.loads(output_of([coz, "report", "--json", profile], folder))
    line = next(line for line in report["points"][0]["lines"] if report["units"][line["unit"]]["function"] == language.function)
    percent = 100 / line["phase_factor"]
    return {round(100 * point["virtual_speedup"]): [percent * point["program_speedup"][end] for end in ("value", "low", "high")]
            for point in line["curve"]["points"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("language", choices=sorted(LANGUAGES))
    parser.add_argument("--coz", default=str(HERE.parents[1] / "bazel-bin/tools/coz"))
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--pairs", type=int, default=3)
    arguments = parser.parse_args()
    language = LANGUAGES[arguments.language]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if arguments.language == "java":
            output_of(["javac", "-d", folder, HERE / "Rounds.java"], folder)
        predicted = predicted_gains(language, arguments.coz, arguments.seconds, folder)
        print("| `parse` is faster by | real | predicted |\n|--:|--:|--:|")
        for percent in SPEEDUPS:
            print("| %d %% | %.1f %% | %.1f %% (%.1f to %.1f) |" %
                  (percent, real_gain(language, percent, arguments.pairs, folder), *predicted[percent]))


if __name__ == "__main__":
    main()
