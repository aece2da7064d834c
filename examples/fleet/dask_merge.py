#!/usr/bin/env python3
"""Merges the profiles of a fleet as a tree of Dask tasks.

  examples/fleet/dask_merge.py [--scheduler tcp://HOST:8786] [--coz coz] [--fan 100] OUTPUT.pb FOLDER

reads FOLDER/*.pb. Without --scheduler it starts workers on this machine. A task merges so many files
of the level below. All workers see FOLDER and OUTPUT.pb at the same path. A task that runs again,
since its worker died, counts nothing twice: `coz merge` gives a file its name when it is whole.
"""
import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

import distributed


def step(coz, output, inputs):
    """On a worker: merges files, unless an earlier try has done it. `inputs` are what steps have returned, or paths."""
    if not pathlib.Path(output).exists():
        subprocess.run([coz, "merge", "--compact", "-o", output, *inputs], check=True)
    return output


def merge(client, coz, fan, levels, paths):
    """The path of the merged file, in the folder `levels`."""
    files, level = paths, 0
    while level == 0 or len(files) > 1:
        files = [
            client.submit(step, coz, f"{levels}/{level}-{index}.pb", files[first:first + fan], retries=3, pure=False)
            for index, first in enumerate(range(0, len(files), fan))
        ]
        level += 1
    return files[0].result()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--scheduler", help="address of a Dask scheduler; default: workers on this machine")
    parser.add_argument("--coz", default="coz", help="the command, where the workers run")
    parser.add_argument("--fan", type=int, default=100, help="files of a step (default 100)")
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    paths = sorted(str(path) for path in options.folder.resolve().glob("*.pb"))
    if not paths:
        sys.exit(f"there is no *.pb in {options.folder}")
    output = options.output.resolve()
    with distributed.Client(options.scheduler) as client:
        levels = tempfile.mkdtemp(prefix=output.name + ".", dir=output.parent)
        try:
            pathlib.Path(merge(client, options.coz, max(2, options.fan), levels, paths)).rename(output)
        finally:
            shutil.rmtree(levels, ignore_errors=True)
    print(f"the profiles of {options.folder} are in {output}: coz report {output}")


if __name__ == "__main__":
    main()
