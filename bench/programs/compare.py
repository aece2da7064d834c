#!/usr/bin/env python3
"""Runs real programs without and with coz and compares what they did: standard output and error, exit status, and the files they left.

Usage: bench/programs/compare.py [--only=REGEX] [--folder=DIR] [--coz=PATH] [--rounds=N]

Prints a Markdown table: for each program whether everything was the same, byte for byte, and the run times (one run each, not a
measurement of overhead). Programs that are not installed are listed as such. Exit status 1 if any differed.

Each runs under ticker.c, which has a progress point, with --unit=library, every binary in scope and a fixed speedup of 50 %: so there are
experiments all the time, and threads are really paused. "delay" is what each running thread had to pause.
What a program prints at random (rates, times) its script in cases.sh leaves out of the comparison.
"""
import argparse, json, os, pathlib, re, shutil, signal, stat, subprocess, sys, time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LIMIT_S = 150
PROFILE_OPTIONS = ["--follow=all", "-b", "%", "--unit=library", "--fixed-speedup=50", "--experiment-length=0.1"]


def cases():
    """Name, programs it needs, and title of each function `case_NAME` in cases.sh, in order."""
    text = (HERE / "cases.sh").read_text()
    for match in re.finditer(r"^# (.*?) \[(.*?)\]\ncase_(\w+)\(\)", text, re.M):
        yield match.group(3), match.group(2).split(), match.group(1)


def tree(folder):
    """Type, mode and content of everything below a folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        if stat.S_ISREG(status.st_mode):
            content = path.read_bytes()
        elif stat.S_ISLNK(status.st_mode):
            content = os.readlink(path).encode()
        else:
            content = b""
        found[str(path.relative_to(folder))] = (oct(status.st_mode), content)
    return found


def run(folder, name, coz):
    """Runs a case in a fresh folder; returns what it did, its seconds, and what coz itself printed."""
    shutil.rmtree(folder, ignore_errors=True)
    work = folder / "work"
    work.mkdir(parents=True)
    inner = f"exec >{folder}/out 2>{folder}/err </dev/null; . {HERE}/cases.sh; cd {work}; case_{name}"
    command = [folder.parent.parent / "ticker", "/bin/bash", "-c", inner]
    if coz:
        command = [coz, "run", *PROFILE_OPTIONS, "-o", str(folder / "profile.pb"), "---", *command]
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    start = time.monotonic()
    child = subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        said = child.communicate(timeout=LIMIT_S)[0]
        ended = str(child.returncode)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        said, ended = child.communicate()[0], f"still running after {LIMIT_S} s"
    did = {"exit status": ended, "standard output": (folder / "out").read_bytes(),
           "standard error": (folder / "err").read_bytes(), "files": tree(work)}
    return did, time.monotonic() - start, said.decode(errors="replace")


def difference(bare, other):
    """The names of what differs, and where; empty if nothing does."""
    parts = []
    for what in bare:
        if bare[what] == other[what]:
            continue
        if what == "files":
            names = sorted(n for n in {*bare[what], *other[what]} if bare[what].get(n) != other[what].get(n))
            parts.append("files " + ", ".join(names[:5]))
        else:
            parts.append(what)
    return parts


def experiments(coz, profile):
    """How many experiments a profile has, and the seconds of delay in them; (0, 0) for one that cannot be read."""
    report = subprocess.run([coz, "report", "--json", str(profile)], capture_output=True, text=True)
    if report.returncode:
        return 0, 0
    read = json.loads(report.stdout)
    return read["totals"]["experiments"], sum(s["end"]["inserted_delay_ns"] for s in read["sessions"] if s["end"]) / 1e9


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", default="")
    options.add_argument("--folder", default="/tmp/coz-programs", type=pathlib.Path)
    options.add_argument("--coz", default=str(ROOT / "bazel-bin/tools/coz"))
    options.add_argument("--rounds", default=1, type=int)
    arguments = options.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["gcc", "-O1", f"-I{ROOT}/coz/runtime", "-o", arguments.folder / "ticker", HERE / "ticker.c"], check=True)
    print("| program | the same | bare, s | coz, s | experiments | delay, s |\n|---|---|--:|--:|--:|--:|", flush=True)
    differing = same = missing = 0
    for name, needs, title in cases():
        if not re.search(arguments.only, name):
            continue
        absent = [p for p in needs if not (shutil.which(p) or os.path.exists(p))]
        if absent:
            missing += 1
            print(f"| {title} | not run: {', '.join(absent)} is missing | | | | |", flush=True)
            continue
        for _ in range(arguments.rounds):
            bare, bare_s, _ = run(arguments.folder / name / "bare", name, None)
            profiled, coz_s, said = run(arguments.folder / name / "coz", name, arguments.coz)
            parts = difference(bare, profiled)
            if parts:
                break
        (arguments.folder / name / "said").write_text(said)
        verdict = "**no**: " + "; ".join(parts) if parts else "yes"
        if bare["exit status"] != "0":
            verdict += f" (bare: exit status {bare['exit status']})"
        made, delay_s = experiments(arguments.coz, arguments.folder / name / "coz/profile.pb")
        print(f"| {title} | {verdict} | {bare_s:.1f} | {coz_s:.1f} | {made} | {delay_s:.1f} |", flush=True)
        differing += bool(parts)
        same += not parts
    print(f"\n{same} the same, {differing} not, {missing} not run.")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
