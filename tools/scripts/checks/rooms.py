#!/usr/bin/env python3
"""Which room uses which: docs/design.md, "Who includes what", as a table, for includes and for dependencies of Bazel targets.

Usage: rooms.py [ROOT]             includes of what is no test
       rooms.py --graph FILE       dependencies, as `bazel query --output=graph --nograph:factored` prints them
"""
import re
import sys

import tree

# What each room may use besides itself; "*": every room. A room that is not here is a fault.
USES = {
    "coz/base": [],
    "coz/sampler": ["coz/base"],
    "coz/sourcemap": ["coz/base"],
    "coz/sync/delay": ["coz/base"],
    "coz/experiment": ["coz/base"],
    "coz/points": ["coz/base"],
    "coz/attach": ["coz/base", "coz/shared"],
    "coz/patch": ["coz/base"],
    "coz/shared": ["coz/base", "coz/patch", "coz/sampler", "coz/sync/delay"],
    "coz/sync/interpose": ["coz/base", "coz/shared", "coz/sync/delay"],
    "coz/runtime": ["coz/base", "coz/patch", "coz/sampler", "coz/shared", "coz/sourcemap", "coz/sync/delay", "coz/sync/interpose"],
    "coz/report/statistics": [],
    "coz/report": ["coz/base", "coz/report/statistics"],
    "coz/supervisor": ["coz/attach", "coz/base", "coz/experiment", "coz/patch", "coz/points", "coz/report", "coz/report/statistics", "coz/sampler",
                       "coz/shared", "coz/sourcemap", "coz/sync/delay"],
    "tools": ["coz/base", "coz/experiment", "coz/points", "coz/report", "coz/report/statistics", "coz/sourcemap",
              "coz/supervisor"],
    "coz/testing": ["*"],
    "bench": ["*"],
    "examples": ["*"],
}
# For programs, whoever writes them; and what the command runs, which is not linked into it.
FOR_ALL = {"coz/runtime/coz.h", "//coz/runtime:coz_h", "//coz/runtime:libcoz.so", "//examples:pipeline",
           "//examples:known_answers"}
# Code that runs in the target.
TARGET_ROOTS = ("//coz/runtime:libcoz.so",)
NOT_IN_TARGET = re.compile(r"^@com_google_(absl|protobuf)\b")

_TEST_ONLY = re.compile(r"(_test|_fuzzer)\.\w+$|(^|/)(testing|testdata)/")
_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def room_of(path):
    """The room of a file or package, or None for what is no part of this tree."""
    inside = [room for room in USES if path == room or path.startswith(room + "/")]
    if inside:
        return max(inside, key=len)
    return "/".join(path.split("/")[:2]) if path.startswith("coz/") else None


def cycle():
    """A fault where the table itself allows two rooms to use each other, be it through others."""
    left = {room: set(used) for room, used in USES.items() if "*" not in used}
    while left:
        free = [room for room, used in left.items() if not used & set(left)]
        if not free:
            return ["these rooms may use each other in a circle: " + ", ".join(sorted(left))]
        for room in free:
            del left[room]
    return []


def _fault(user, used, user_room, used_room):
    if user_room == used_room or used_room is None or user_room is None or used in FOR_ALL:
        return None
    allowed = USES.get(user_room)
    if allowed is None or used_room not in USES:
        return "%s is a room that tools/scripts/checks/rooms.py does not know" % (user_room if allowed is None else used_room)
    if "*" in allowed or used_room in allowed:
        return None
    return "%s uses %s, but %s is not to use %s" % (user, used, user_room, used_room)


def include_faults(root):
    faults = cycle()
    for path in tree.files(root, r"\.(cc|h|c)$"):
        if _TEST_ONLY.search(path):
            continue
        for used in _INCLUDE.findall(tree.read(root, path)):
            fault = _fault(path, used, room_of(path), room_of(used))
            if fault:
                faults.append(fault)
    return faults


def edges_of(graph):
    return re.findall(r'^\s*"([^"]+)" -> "([^"]+)"', graph, re.M)


def _package(label):
    return label[2:].split(":")[0]


def _target_faults(edges):
    """What the preload library is built of is neither Abseil nor protobuf."""
    uses = {}
    for user, used in edges:
        uses.setdefault(user, []).append(used)
    seen, todo = set(), list(TARGET_ROOTS)
    while todo:
        label = todo.pop()
        for used in uses.get(label, []):
            if NOT_IN_TARGET.match(used):
                yield "%s uses %s, but code that runs in the target uses no Abseil and no protobuf" % (label, used)
            elif used not in seen:
                seen.add(used)
                todo.append(used)


def graph_faults(graph):
    edges = edges_of(graph)
    ours = [(user, used) for user, used in edges if user.startswith("//") and used.startswith("//")]
    if not any(user in TARGET_ROOTS for user, _ in ours):
        return ["the graph lacks " + TARGET_ROOTS[0]]
    faults = [_fault(user, used, room_of(_package(user)), room_of(_package(used))) for user, used in ours]
    return cycle() + [fault for fault in faults if fault] + list(_target_faults(edges))


def main():
    if sys.argv[1:2] == ["--graph"]:
        with open(sys.argv[2], encoding="utf-8") as file:
            sys.exit(tree.finish("dependencies", graph_faults(file.read())))
    tree.main("includes", include_faults)


if __name__ == "__main__":
    main()
