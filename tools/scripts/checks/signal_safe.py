#!/usr/bin/env python3
"""Whatever the sample handler is built of says so by the tag signal_safe.

Usage: signal_safe.py LABELS

LABELS is a file of the libraries that lack the tag, a line each: what this query prints, from the handler's library.
  kind(cc_library, filter("^//", deps(HANDLER))) except attr(tags, signal_safe, deps(HANDLER))
"""
import sys

import tree


def find_faults(labels):
    return ["%s is part of the sample handler, and lacks the tag signal_safe" % label for label in labels.split()]


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        sys.exit(tree.finish("signal_safe", find_faults(file.read())))
