#!/usr/bin/env python3
"""Attaches coz to Debian's servers while they are asked, again and again, and looks whether they notice.

Usage: ./bazelw run //bench/servers:attach -- [--only=NAME,NAME] [--cycles=N] [--kills=N] [--seconds=N] [--markdown=FILE]
                                              [--folder=DIR] [--coz=PATH] [--coz-option=OPTION]...

Each server is attached to N times, counts a function by changed code, and is left. Then coz is killed by SIGKILL N times
somewhere within that, and the next one attaches. Clients compare every answer with the right one meanwhile. In the end the
function's code, and the dispositions and descriptors of the server, have to be as before.
"""
import argparse
import pathlib
import random
import signal
import subprocess
import sys
import time

import attach_java
import attach_load
import attach_postgresql
import attach_targets
import packages
import processes
import servers

_LONGEST_S = 60  # of one `coz attach`

_TARGETS = (attach_targets.Redis, attach_targets.Nginx, attach_targets.Python, attach_postgresql.Postgresql, attach_java.Java)
_BY_NAME = {target.name: target for target in _TARGETS}


def say(text):
    print(text, file=sys.stderr, flush=True)


def options(arguments):
    parser = argparse.ArgumentParser(prog="attach", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="names: %s" % ", ".join(_BY_NAME))
    parser.add_argument("--cycles", type=int, default=100, help="attached and left so often (default %(default)s)")
    parser.add_argument("--kills", type=int, default=20, help="coz killed so often (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.5, help="attached for so long (default %(default)s)")
    parser.add_argument("--markdown", type=pathlib.Path, help="where the table goes as Markdown")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("/tmp/coz-attach"))
    parser.add_argument("--coz", type=pathlib.Path, help="instead of this tree's")
    parser.add_argument("--coz-option", action="append", default=[], help="for each `coz attach`; may be repeated")
    chosen = parser.parse_args(arguments)
    names = [name for name in chosen.only.split(",") if name] or list(_BY_NAME)
    for name in names:
        if name not in _BY_NAME:
            parser.error("--only: there is no server %s" % name)
    chosen.targets = [_BY_NAME[name] for name in names]
    chosen.folder = servers.of_caller(chosen.folder)
    if chosen.markdown:
        chosen.markdown = servers.of_caller(chosen.markdown)
    return chosen


class Session:
    """What becomes of one server."""

    def __init__(self, target, chosen):
        self.target = target
        self.chosen = chosen
        self.refused = []
        self.random = random.Random(1)

    def coz(self, seconds):
        command = [self.chosen.coz, "attach", *self.target.coz_options, *self.chosen.coz_option, "--experiment-length=0.1",
                   "--duration=%g" % seconds,
                   "--progress=%s" % (self.target.point or self.target.function), "-o", self.target.folder / "profile.pb", self.target.pid]
        return processes.start(command, self.target.folder / "coz.log")

    def attach(self):
        coz = self.coz(self.chosen.seconds)
        try:
            status = coz.wait(_LONGEST_S)
        except subprocess.TimeoutExpired:
            raise processes.Failed("coz attach %d ran for more than %d s" % (self.target.pid, _LONGEST_S)) from None
        finally:
            processes.end(coz, signal.SIGTERM, 5)
        said = (self.target.folder / "coz.log").read_text(errors="replace")
        if status not in (0, 3) or "runs on as before" not in said:
            self.refused.append(said.strip().splitlines()[-1] if said.strip() else "status %d" % status)

    def kill(self):
        coz = self.coz(30)
        time.sleep(self.random.uniform(0, 1.0))
        processes.end(coz, signal.SIGKILL, 5)

    def settled_state(self):
        """Threads of clients that have gone end some time later."""
        last = None
        for _ in range(20):
            state = self.target.state()
            if state == last:
                break
            last = state
            time.sleep(0.3)
        return last

    def run(self):
        """A row of the table."""
        target = self.target
        before = self.settled_state()
        load = attach_load.Load(target)
        load.start()
        try:
            for _ in range(self.chosen.cycles):
                self.attach()
            cycles_refused, self.refused = self.refused, []
            for _ in range(self.chosen.kills):
                self.kill()
            self.attach()  # puts all right again
            killed_refused = self.refused
        finally:
            load.end()
        after = self.settled_state()
        stuck = load.stuck + len(target.stopped_threads())
        for why in cycles_refused + killed_refused:
            say("%s: %s" % (target.name, why))
        for what in before:
            if before[what] != after[what]:
                say("%s: %s was %s, is %s" % (target.name, what, before[what], after[what]))
        for wrong in load.wrong[:5]:
            say("%s: %s" % (target.name, wrong))
        changed = [what for what in before if before[what] != after[what]]
        return [target.name, target.function, str(self.chosen.cycles - len(cycles_refused)), str(self.chosen.kills),
                "%d" % load.answered, str(len(load.wrong)), str(stuck), ", ".join(changed) or "nothing"]


HEAD = ["server", "function", "attached", "killed", "requests", "lost or wrong", "threads stuck", "changed"]


def main(arguments):
    chosen = options(arguments)
    chosen.folder.mkdir(parents=True, exist_ok=True)
    chosen.coz = chosen.coz or servers.installed_coz(chosen.folder)
    rows = []
    failed = False
    for target_class in chosen.targets:
        try:
            packages.install(target_class.packages, chosen.folder, say)
            target = target_class(chosen.folder)
            with target:
                rows.append(Session(target, chosen).run())
        except processes.FAILURES as failure:
            say("%s: %s" % (target_class.name, failure))
            failed = True
    lines = ["| %s |" % " | ".join(row) for row in [HEAD, ["---"] * len(HEAD), *rows]]
    print("\n".join(lines))
    if chosen.markdown:
        chosen.markdown.write_text("\n".join(lines) + "\n")
    is_right = all(row[2] == str(chosen.cycles) and row[5:] == ["0", "0", "nothing"] for row in rows)
    return 0 if is_right and not failed else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    finally:
        processes.end_all()
