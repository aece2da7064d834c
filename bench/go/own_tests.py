#!/usr/bin/env python3
"""Runs tests of Go's own packages bare and under coz, and compares what each test says.

  ./bazelw run //bench/go:own_tests [-- PACKAGE...]

Prints, for each package, how many tests there are and how many end otherwise under coz. The exit status is 1 where any
does. Builds with -race, which brings cgo. Tests of net/http that want a network fail in both. Needs Debian's Go.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# In the runfiles, where `bazel run` starts this program.
_COZ = pathlib.Path("tools/coz").resolve()
_PACKAGES = ("sync", "context", "os/exec", "net/http")
_LONGEST_S = 600
# Without the folder where `bazel run` was called, to which coz would go.
_FOLDERS = ("BUILD_WORKING_DIRECTORY", "COZ_CALLER_PWD")
_ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in _FOLDERS}


def _outcomes(command, folder):
    """The outcome of each test by its name, and the exit status."""
    done = subprocess.run(command, cwd=folder, env=_ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace", timeout=_LONGEST_S, check=False)
    found = re.findall(r"^\s*--- (PASS|FAIL|SKIP): (\S+)", done.stdout, re.M)
    return {name: outcome for outcome, name in found}, done.returncode


def _compare(package, folder):
    """How many tests there are, and the names of those that differ."""
    program = os.path.join(folder, package.replace("/", "_"))
    subprocess.run(["go", "test", "-race", "-c", "-o", program, package], check=True, stdin=subprocess.DEVNULL,
                   env={**os.environ, "CGO_ENABLED": "1", "GOCACHE": os.path.join(folder, "cache")})
    root = subprocess.run(["go", "env", "GOROOT"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    sources = os.path.join(root, "src", package)
    test = [program, "-test.short", "-test.v"]
    bare, bare_status = _outcomes(test, sources)
    coz, coz_status = _outcomes([_COZ, "run", "-o", program + ".pb", "--unit=function", "--progress=testing.tRunner", "---",
                                 *test], sources)
    differ = sorted(name for name in {**bare, **coz} if bare.get(name) != coz.get(name))
    if bare_status != coz_status:
        differ.append("exit status %d, bare %d" % (coz_status, bare_status))
    return len(bare), differ


def main():
    if shutil.which("go") is None:
        sys.exit("Go is missing; run: sudo apt-get install golang-go")
    any_differs = False
    with tempfile.TemporaryDirectory() as folder:
        for package in sys.argv[1:] or _PACKAGES:
            tests, differ = _compare(package, folder)
            any_differs = any_differs or bool(differ) or tests == 0
            print("%s: %d tests, %d end otherwise under coz %s" % (package, tests, len(differ), ", ".join(differ)), flush=True)
    return 1 if any_differs else 0


if __name__ == "__main__":
    sys.exit(main())
