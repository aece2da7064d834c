#!/usr/bin/env python3
"""Comments of C and C++ are at most 100 columns wide. clang-format sees to the code, and leaves comments as they are.
A line with a mark `// LINE(label)` holds all of its work, however wide it gets.

Usage: width.py [ROOT]
"""
import collections
import os
import re
import sys

import tree

COLUMNS = 100
_COMMENT = re.compile(r"^\s*(//|/\*|\*)|\s//\s|/\*")
_MARK = re.compile(r"// LINE\(\w+\)$")


def find_faults(root):
    return ["%s:%d: %d columns" % (path, number, len(line))
            for path in tree.files(root, r"\.(cc|h|c|proto)$")
            for number, line in enumerate(tree.read(root, path).split("\n"), 1)
            if len(line) > COLUMNS and _COMMENT.search(line) and not _MARK.search(line)]


def by_folder(faults):
    count = collections.Counter(os.path.dirname(fault.split(":")[0]) for fault in faults)
    return ["%5d %s" % (lines, folder) for folder, lines in count.most_common()]


if __name__ == "__main__":
    found = find_faults(sys.argv[1] if len(sys.argv) > 1 else ".")
    status = tree.finish("width", found)
    print("\n".join(by_folder(found)))
    sys.exit(status)
