"""How often a short run of the demo says the right thing of its three lines.

Right is a line whose verdict is the true one, and sure, and whose interval of the gain that it quotes holds the true
gain. The truth follows from examples/pipeline.cc: 1.6 ms an item, of which Decode takes 0.6 and Check 0.4, and never
less than 0.7 of it."""
import json
import subprocess

_SHARES = {"Decode": 0.6, "Check": 0.4, "Compress": 0}
_VERDICTS = {"Decode": "faster", "Check": "faster", "Compress": "no_effect"}
_MOST = 0.3


def true_gain(function, virtual_speedup):
    return min(_SHARES[function] * virtual_speedup, _MOST)


def is_right(function, line):
    headline = line["headline"]
    gain = headline["program_speedup"]
    truth = true_gain(function, headline["virtual_speedup"])
    return line["verdict"] == _VERDICTS[function] and line["sure"] and gain["low"] <= truth <= gain["high"]


def judge(report):
    """{function: (whether it is right, what was said of it)} of each of the three."""
    said = {function: (False, "set aside") for function in _SHARES}
    for line in report["points"][0]["lines"] if report["points"] else []:
        name = report["units"][line["unit"]]["function"]
        for function in _SHARES:
            if name.endswith(function):
                said[function] = (is_right(function, line), f"{line['headline']['text']}, {line['verdict_word']}")
    return said


def measure(coz, program, seconds, runs, folder):
    """Prints each run, and how many were right."""
    counts = dict.fromkeys(_SHARES, 0)
    whole = 0
    profile = folder / "demo.pb"
    for run in range(1, runs + 1):
        profile.unlink(missing_ok=True)
        subprocess.run([coz, "run", "-o", profile, f"--duration={seconds}", "---", program, str(seconds + 2)],
                       capture_output=True, timeout=seconds + 120, check=False)
        shown = subprocess.run([coz, "report", "--json", profile], capture_output=True, text=True, timeout=120, check=False)
        said = judge(json.loads(shown.stdout) if shown.stdout else {"points": []})
        for function, (right, text) in said.items():
            counts[function] += right
            print(f"{run:>3}  {function:<9} {'right' if right else 'WRONG'}  {text}", flush=True)
        whole += all(right for right, _ in said.values())
    each = ", ".join(f"{function} {count}" for function, count in counts.items())
    print(f"all three lines right in {whole} of {runs} runs of {seconds} s ({each})")
