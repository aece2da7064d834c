"""What coz predicts of a JavaScript function, and what it really brings. Prints a Markdown table.

Usage: python3 bench/jit/node_functions.py [--coz=PATH] [--seconds=20] [--pairs=3]
"""
import argparse
import json
import pathlib
import re
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SPEEDUPS = (25, 50, 75)
# Without inlining, so that both functions are there as such.
NODE = ["node", "--no-turbo-inlining", "--perf-basic-prof", HERE / "rounds.js"]


def output_of(command, folder):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True, cwd=folder).stdout


def real_gain(percent, pairs, folder):
    """The share of a round that goes away, in percent; the median of runs in turn."""
    gains = []
    for _ in range(pairs):
        rates = [float(re.search(r"rounds per second: ([\d.]+)", output_of([*NODE, 2, share], folder))[1])
                 for share in (1, 1 - percent / 100)]
        gains.append(100 * (1 - rates[0] / rates[1]))
    return sorted(gains)[len(gains) // 2]


def predicted_gains(coz, seconds, folder):
    """By speedup in percent: value and interval, in percent."""
    profile = folder / "node.pb"
    output_of([coz, "run", "--unit=function", "--binary-scope=JIT", "--progress=uv_fs_write", "--fixed-unit=parse",
               "--fixed-speedup=0,25,50,75", "--duration=%d" % seconds, "-o", profile, "---", *NODE, seconds + 2, 1], folder)
    report = json.loads(output_of([coz, "report", "--json", profile], folder))
    line = next(line for line in report["points"][0]["lines"] if report["units"][line["unit"]]["function"] == "parse")
    return {round(100 * point["virtual_speedup"]): [100 * point["program_speedup"][end] for end in ("value", "low", "high")]
            for point in line["curve"]["points"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--coz", default=str(HERE.parents[1] / "bazel-bin/tools/coz"))
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--pairs", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        predicted = predicted_gains(arguments.coz, arguments.seconds, folder)
        print("| `parse` is faster by | real | predicted |\n|--:|--:|--:|")
        for percent in SPEEDUPS:
            print("| %d %% | %.1f %% | %.1f %% (%.1f to %.1f) |" %
                  (percent, real_gain(percent, arguments.pairs, folder), *predicted[percent]))


if __name__ == "__main__":
    main()
