#!/usr/bin/env python3
"""Profiles a program whose worker is killed and started again, over and over, and kills some of the supervisors.

    ./bazelw build //tools:coz //coz/runtime:libcoz.so //coz/testing/puppets:family
    coz/testing/soak/soak.py [--seconds 3600] [--seed N] [--coz FILE] [--program FILE]

The program is `family killed`, which checks itself what becomes of its processes. Each round it runs for some seconds, mostly under
`coz run`. It has to print and to end as it does alone, also where the supervisor was killed. While a supervisor runs, its descriptors and
threads do not become more, and its memory grows with the profile alone. After each round no process is left, and so none of the memory that
coz shares, which has no name; and no file in /tmp and /dev/shm, which the rounds have for themselves.

The last line says whether all was so, and the exit status is 0 then.
"""

import argparse
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

# Until a run has opened what it needs.
SETTLED_S = 3
LOOK_S = 0.5
# Beside one for each process that runs at a time.
MOST_NEW_DESCRIPTORS = 8
# It measures the cost of a switch between two threads.
MOST_THREADS = 3
# Of a profile of some minutes.
MOST_NEW_MEMORY_KB = 64 * 1024
# To end after its last second.
GRACE_S = 30


def own_descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def status_of(pid, field):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    raise ValueError(field)


def processes():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def of_round(token):
    """The processes that have the round's token in their environment."""
    found = []
    for pid in processes():
        try:
            environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            continue
        if token.encode() in environment.split(b"\0"):
            found.append(pid)
    return found


def zombies_here():
    found = []
    for pid in processes():
        try:
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if fields[0] == "Z" and int(fields[1]) == os.getpid():
            found.append(pid)
    return found


class Watch:
    """What a supervisor holds while it runs."""

    def __init__(self, pid):
        self.pid = pid
        self.first = None
        self.told = set()
        self.faults = []

    def look(self):
        try:
            now = (own_descriptors(self.pid), status_of(self.pid, "Threads"), status_of(self.pid, "VmRSS"))
        except (OSError, ValueError):
            return  # it has ended
        if self.first is None:
            self.first = now
        for what, most in (("descriptors", MOST_NEW_DESCRIPTORS + self.first[0]), ("threads", MOST_THREADS),
                           ("KB of memory", MOST_NEW_MEMORY_KB + self.first[2])):
            have = dict(zip(("descriptors", "threads", "KB of memory"), now))[what]
            if have > most and what not in self.told:
                self.told.add(what)
                self.faults.append(f"the supervisor had {have} {what}; {most} were expected at most")


class Soak:
    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="soak", dir=options.folder))
        self.faults = []
        self.rounds = 0
        self.killed = 0

    def run(self):
        left = self.options.seconds
        try:
            while left > 0:
                left -= max(self.round(left), LOOK_S)
        finally:
            shutil.rmtree(self.folder)
        print(f"{self.rounds} rounds, {self.killed} supervisors killed, {len(self.faults)} faults")
        print("FAILED" if self.faults else "passed")
        return 1 if self.faults else 0

    def round(self, left):
        """How long it ran."""
        seconds = max(2, min(self.random.choice((3, 5, 10, 20, 60)), int(left)))
        kills = self.rounds % 2 == 0
        is_alone = self.rounds % 10 == 9
        token = f"COZ_SOAK_ROUND={os.getpid()}.{self.rounds}"
        profile = self.folder / "profile.pb"
        printed = self.folder / "printed"
        status = self.folder / "status"
        for path in (profile, printed, status):
            path.unlink(missing_ok=True)
        # The shell notes how the program ended, which it does without a supervisor too.
        program = [self.options.program, "killed", str(seconds)]
        noted = ["sh", "-c", f'"$@" >{printed}; echo $? >{status}', "sh", *program]
        command = noted if is_alone else [self.options.coz, "run", "-o", str(profile), "--follow", "all", "---", *noted]
        name, value = token.split("=")
        process = subprocess.Popen(command, env={**os.environ, name: value}, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=(self.folder / "said").open("w"))
        kill_at = self.random.uniform(0.05, seconds) if kills else None
        passed = self.follow(process, token, seconds, kill_at)
        self.judge(token, kill_at, is_alone, process.returncode, printed, status)
        self.rounds += 1
        return passed

    def follow(self, process, token, seconds, kill_at):
        watch = Watch(process.pid)
        # Time for which all is stopped, for a measurement say, does not count.
        passed = 0
        while passed < seconds + GRACE_S:
            if kill_at is not None and passed > kill_at and process.poll() is None:
                process.send_signal(signal.SIGKILL)
                self.killed += 1
                kill_at = None
            if process.poll() is not None and not of_round(token):
                break
            if passed > SETTLED_S:
                watch.look()
            look = LOOK_S if kill_at is None else min(LOOK_S, max(0.01, kill_at - passed))
            time.sleep(look)
            passed += look
        self.note(watch.faults)
        return passed

    def judge(self, token, kill_at, is_alone, returncode, printed, status):
        left = of_round(token)
        self.note([f"process {pid} is left" for pid in left])
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        self.note([f"a zombie is left: {pid}" for pid in zombies_here()])
        said = printed.read_text() if printed.exists() else "nothing"
        ended = status.read_text().strip() if status.exists() else "nothing"
        if said != "ok\n" or ended != "0":
            self.note([f"the program printed {said!r} and ended with {ended}"])
        if returncode not in (0, -signal.SIGKILL) or (kill_at is None and is_alone and returncode != 0):
            self.note([f"coz ended with {returncode}: {(self.folder / 'said').read_text()!r}"])
        for folder in ("/tmp", "/dev/shm"):
            names = os.listdir(folder)
            self.note([f"{folder}/{name} is left" for name in names])
            for name in names:
                path = pathlib.Path(folder, name)
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def note(self, faults):
        for fault in faults:
            print(f"round {self.rounds}: {fault}", flush=True)
        self.faults += faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--coz", default="bazel-bin/tools/coz")
    parser.add_argument("--program", default="bazel-bin/coz/testing/puppets/family")
    parser.add_argument("--folder", default="/var/tmp", help="for the profile; not below /tmp")
    parser.add_argument("--is-inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.coz = os.path.realpath(options.coz)
    options.program = os.path.realpath(options.program)
    if options.is_inside:
        for folder in ("/tmp", "/dev/shm"):
            subprocess.run(["mount", "-t", "tmpfs", "none", folder], check=True)
        return Soak(options).run()
    arguments = ["--seconds", str(options.seconds), "--seed", str(options.seed), "--coz", options.coz,
                 "--program", options.program, "--folder", options.folder, "--is-inside"]
    as_root = [] if os.geteuid() == 0 else ["--map-root-user"]
    # A /tmp and a /dev/shm that only the rounds write to.
    return subprocess.run(["unshare", *as_root, "--mount", sys.executable, os.path.realpath(__file__), *arguments],
                          check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
