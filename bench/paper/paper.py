#!/usr/bin/env python3
"""The paper's programs, again: what coz ranks first in them, what it predicts for the paper's change, and what that brings here.

Usage: ./bazelw run //bench/paper -- [--only=NAME,NAME] [--seconds=N] [--pairs=N] [--parsec=ADDRESS-OR-GIT-FOLDER] [--no-peer]
                                     [--markdown=FILE] [--folder=DIR] [--coz=PATH]

PARSEC is cloned from GitHub at one commit, and SQLite comes from npm; inputs are made here. Each program is built before and
after the change. Runs of both in turn tell the real gain. A profile of all lines, and one of the unit that the change makes
cheaper, tell what coz says; the original Coz (Debian's, unpacked beside) profiles the same program as long.
"""
import argparse
import pathlib
import signal
import sys

import measure_program
import parsec
import paper_table
import programs
from other_benches import packages, processes, servers, subjects


def options(arguments):
    parser = argparse.ArgumentParser(prog="paper", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="names: %s" % ", ".join(p.name for p in programs.PROGRAMS))
    parser.add_argument("--seconds", type=float, default=60, help="of each profile (default %(default)s)")
    parser.add_argument("--pairs", type=int, default=6, help="rounds of runs in turn (default %(default)s)")
    parser.add_argument("--parsec", default=parsec.URL, help="where PARSEC is cloned from, or a git folder (default %(default)s)")
    parser.add_argument("--no-peer", action="store_true", help="leave the original out")
    parser.add_argument("--markdown", type=pathlib.Path, help="where the table goes as Markdown")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("/tmp/coz-paper"))
    parser.add_argument("--coz", type=pathlib.Path, help="instead of this tree's")
    chosen = parser.parse_args(arguments)
    if chosen.pairs < 2 or chosen.seconds < 5:
        parser.error("--pairs is 2 or more, and --seconds 5 or more")
    try:
        chosen.programs = programs.chosen([name for name in chosen.only.split(",") if name])
    except ValueError as error:
        parser.error(str(error))
    if chosen.markdown:
        chosen.markdown = servers.of_caller(chosen.markdown)
    chosen.folder = servers.of_caller(chosen.folder)
    return chosen


def row_of(kind, chosen, coz, peer, repository):
    program = kind(chosen.folder, peer)
    row = paper_table.Row(program)
    try:
        if program.sources:
            program.repository = repository()
        packages.install(program.packages, chosen.folder, servers.say)
        servers.say("%s: building it in %s" % (program.name, program.folder))
        program.folder.mkdir(parents=True, exist_ok=True)
        program.build()
        measure_program.Measurement(program, coz, chosen.pairs, chosen.seconds, servers.say).fill(row)
    except processes.FAILURES as failure:
        row.failure = str(failure)
    finally:
        processes.end_all()
    return row


def main(arguments):
    chosen = options(arguments)
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, lambda *_: sys.exit(1))  # by way of `finally`
    chosen.folder.mkdir(parents=True, exist_ok=True)
    awake = servers.keep_cpus_awake()
    peer = None if chosen.no_peer else subjects.fetch_original()
    rows = []
    try:
        coz = chosen.coz or servers.installed_coz(chosen.folder)
        for kind in chosen.programs:
            rows.append(row_of(kind, chosen, coz, peer, lambda: parsec.repository(chosen.parsec, chosen.folder)))
    finally:
        processes.end_all()
        if awake:
            awake.close()
        if rows:
            print(paper_table.text(rows))
            if chosen.markdown:
                chosen.markdown.write_text(paper_table.markdown(rows) + "\n", encoding="utf-8")
    return 1 if any(row.failure for row in rows) else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except processes.Failed as failed:
        sys.exit("paper: %s" % failed)
    except KeyboardInterrupt:
        sys.exit(130)
