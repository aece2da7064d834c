#!/usr/bin/env python3
"""Merges 10,000 profiles as a tree of Slurm's or Dask's tasks on this machine, while one of two hosts dies, and checks
that the result says the same as one merge of all.

  ./bazelw run //bench/fleet -- slurm|dask [--profiles 10000] [--experiments 60] [--hosts 1000] [--fan 40] [--keep]

One host is killed with a step that is half done and one that is done and has not said so. Needs root for the hosts
(process namespaces) and installs the engine's Debian packages. Nothing of it runs on or stays, except with --keep, which
leaves the folder with profiles and logs.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import compare
import engines

# In the runfiles, where `bazel run` starts this program.
_COZ = pathlib.Path("tools/coz")
_MAKE_PROFILES = pathlib.Path("bench/fleet/make_profiles")
_EXAMPLES = pathlib.Path("examples/fleet")
_INTERRUPTED = pathlib.Path("bench/fleet/interrupted_coz.sh")


def _coz(*words):
    done = subprocess.run([_COZ, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise engines.Failed(f"coz {words[0]} failed: {done.stderr.strip()}")
    return done.stdout


def _megabytes(*paths):
    return f"{sum(path.stat().st_size for path in paths) / 1e6:.1f} MB"


def _steps(state):
    """The hosts of all steps so far, and where each wrote."""
    path = state / "steps"
    return [line.split(" ", 1) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def _merge_with_a_death(engine, state, output, profiles, fan):
    """The number of steps that were started."""
    command, environment = engine.merge_command(_EXAMPLES.resolve(), output, profiles, fan)
    with open(engine.folder / "merge.log", "wb") as log:
        merge = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                 env={**engine.environment, **environment})
    try:
        unfinished, unsaid = state / "unfinished", state / "unsaid"

        def is_in_the_middle():
            if merge.poll() is not None:
                raise engines.Failed("the merge ended before a host could be killed; read merge.log with --keep")
            if not (unfinished.exists() and unsaid.exists() and unfinished.read_text()):
                return False
            path = pathlib.Path(unfinished.read_text(encoding="utf-8").strip())
            return bool(list(path.parent.glob(path.name + ".*")))

        engines.wait_until(is_in_the_middle, 120, "the way to the middle of the merge")
        before = len(_steps(state))
        engine.kill("host2")
        print(f"killed a host after {before} steps had begun", flush=True)
        if merge.wait(400) != 0:
            raise engines.Failed("the merge failed; read merge.log with --keep")
    finally:
        merge.kill()
        merge.wait()
    steps = _steps(state)
    paths = [path for _, path in steps]
    again = unfinished.read_text(encoding="utf-8").strip()
    if paths.count(again) != 2 or [host for host, path in steps if path == again] != ["host2", "host1"]:
        raise engines.Failed(f"the step that was half done was not run again: {again}")
    return len(steps)


def _check_same(tree, at_once, profiles, experiments):
    found = compare.difference_of_lines(_coz("report", "--json", tree).replace("\n", " "),
                                        _coz("report", "--json", at_once).replace("\n", " "))
    found = found or compare.difference_of_lines(_coz("export", "--format=jsonl", tree),
                                                 _coz("export", "--format=jsonl", at_once))
    if found:
        raise engines.Failed("the tree of merges and one merge of all differ in " + found)
    copied = tree.parent / "copied.pb"
    said = subprocess.run([_COZ, "merge", "-o", copied, tree], stderr=subprocess.PIPE, text=True, check=True).stderr
    if f"{profiles * experiments} experiments of {profiles} sessions" not in said.replace(",", ""):
        raise engines.Failed(f"of {profiles} profiles with {experiments} experiments there are: {said.strip()}")


def _measure(options, work):
    state, profiles = work / "state_of_steps", work / "profiles"
    state.mkdir()
    os.mkfifo(state / "never_written")
    subprocess.run([_MAKE_PROFILES, profiles, *map(str, (options.profiles, options.experiments, options.hosts))],
                   stdout=subprocess.DEVNULL, check=True)
    made = sorted(profiles.glob("*.pb"))
    print(f"{len(made)} profiles: {_megabytes(*made)}", flush=True)
    at_once, tree = work / "at_once.pb", work / "tree.pb"
    start = time.monotonic()
    _coz("merge", "--compact", "-o", at_once, *made)
    print(f"one merge of them: {time.monotonic() - start:.1f} s, {_megabytes(at_once)}", flush=True)
    environment = {**os.environ, "COZ": str(_INTERRUPTED.resolve()), "FLEET_COZ": str(_COZ.resolve()),
                   "FLEET_STATE": str(state)}
    folder = work / options.engine
    folder.mkdir()
    with engines.ENGINES[options.engine](folder, environment) as engine:
        start = time.monotonic()
        steps = _merge_with_a_death(engine, state, tree, profiles, options.fan)
        print(f"{options.engine}: {steps} steps, one of them twice: {time.monotonic() - start:.1f} s, {_megabytes(tree)}", flush=True)
    _check_same(tree, at_once, options.profiles, options.experiments)
    print("the result says the same as the one merge: coz report --json, coz export --format=jsonl", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("engine", choices=sorted(engines.ENGINES))
    for name, default in (("profiles", 10000), ("experiments", 60), ("hosts", 1000), ("fan", 40)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--keep", action="store_true", help="leave the folder with profiles and logs")
    options = parser.parse_args()
    work = pathlib.Path(tempfile.mkdtemp(prefix="coz-fleet."))
    work.chmod(0o711)
    try:
        engines.install(engines.ENGINES[options.engine].packages)
        _measure(options, work)
    except (engines.Failed, OSError, subprocess.SubprocessError) as failed:
        sys.exit(f"bench/fleet: {failed}")
    finally:
        if options.keep:
            print("see", work)
        else:
            shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
