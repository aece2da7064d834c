"""The files of the tree that the checks read, and how a check says what it found."""
import os
import re
import subprocess
import sys

_SKIPPED_FOLDERS = re.compile(r"^(\.git|bazel-.*|node_modules|__pycache__|testdata|pictures)$")


def files(root, pattern):
    """Paths below `root`, relative to it, that `pattern` matches: what git knows, or all files where there is no git."""
    return sorted(path for path in _all_files(root) if re.search(pattern, path))


def _all_files(root):
    if os.path.exists(os.path.join(root, ".git")):
        listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                                check=True, capture_output=True, text=True).stdout
        paths = [path for path in listed.split("\0") if path]
    else:
        paths = [os.path.relpath(os.path.join(folder, name), root)
                 for folder, _, names in os.walk(root) for name in names]
    return [path for path in paths
            if os.path.isfile(os.path.join(root, path))
            and not any(_SKIPPED_FOLDERS.match(part) for part in path.split("/")[:-1])]


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def finish(check, faults):
    """Prints a line for each fault and how many there are; the exit status."""
    for fault in faults:
        print(fault)
    print("%s: %s" % (check, "%d faults" % len(faults) if faults else "clean"))
    return 1 if faults else 0


def main(check, find_faults):
    """Of a check that reads the tree: its argument is the root, the current folder if there is none."""
    sys.exit(finish(check, find_faults(sys.argv[1] if len(sys.argv) > 1 else ".")))
