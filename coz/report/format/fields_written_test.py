#!/usr/bin/env python3
"""Finds fields and enum values of profile.proto that nobody writes.

Usage: fields_written_test.py profile.proto SOURCE...

SOURCE are the sources of the programs that write profiles. A field of message M counts as written
where set_, add_ or mutable_FIELD is called on a variable that was declared as an M, or on what
mutable_ or add_ of a field of type M gives. A template writes each field that it names in messages of
every type. An enum value counts as written where it is named.
"""
import re
import sys

# Read from profiles of older versions, and written no more.
ONLY_READ = {"Session.lone_thread_period_ns"}


def parse(proto):
    """{message: {field: type}} and {enum: [value]}, without the zero value of each enum."""
    messages, enums, open_blocks = {}, {}, []
    for line in re.sub(r"//.*", "", proto).splitlines():
        block = re.match(r"\s*(message|enum) (\w+) {", line)
        field = re.match(r"\s*(?:repeated )?(\w+) (\w+) = \d+;", line)
        value = re.match(r"\s*(\w+) = (\d+);", line)
        if block:
            open_blocks.append(block.groups())
            (messages if block.group(1) == "message" else enums)[block.group(2)] = (
                {} if block.group(1) == "message" else [])
        elif field:
            messages[open_blocks[-1][1]][field.group(2)] = field.group(1)
        elif value and value.group(2) != "0":
            enums[open_blocks[-1][1]].append(value.group(1))
        elif line.strip() == "}":
            open_blocks.pop()
    return messages, enums


def written_fields(source, messages):
    """The "Message.field" that one source writes."""
    types = {}  # of variables, by name; a name may be used for several
    names = "|".join(messages)
    for message, name in re.findall(r"\b(?:profile::)?(%s)[*&]* (\w+)\b" % names, source):
        types.setdefault(name, set()).add(message)
    for typename, name in re.findall(r"\b([A-Z]\w+)[*&] (\w+)[,)]", source):
        if re.search(r"template <[^>]*typename %s\b" % typename, source):
            types.setdefault(name, set()).update(messages)
    # `auto* validity = experiment->mutable_validity();`
    for name, field in re.findall(r"\bauto[*&]? (\w+) =[^;]*(?:mutable|add)_(\w+)\([^;]*\);", source):
        types.setdefault(name, set()).update(f[field] for f in messages.values() if field in f)
    written = set()
    call = r"(\w+)(?:\[[^\]]*\])?(\([^()]*\))?(?:->|\.)(?:set|add|mutable)_(\w+)\("
    # Calls overlap in chains: `a.mutable_b()->set_c(`.
    for match in re.finditer("(?=\\b%s)" % call, source):
        receiver, is_call, field = match.groups()
        if is_call:
            inner = re.sub("^(mutable|add)_", "", receiver)
            candidates = {f[inner] for f in messages.values() if inner in f}
        else:
            candidates = types.get(receiver, set()) | types.get(receiver.rstrip("_"), set())
        written.update(m + "." + field for m in candidates if field in messages.get(m, {}))
    return written


def main():
    with open(sys.argv[1]) as proto:
        messages, enums = parse(proto.read())
    sources = []
    for path in sys.argv[2:]:
        with open(path) as source:
            sources.append(re.sub(r"//.*", "", source.read()))
    written = set().union(*(written_fields(source, messages) for source in sources))
    # Counters are written by their list: coz/base/target_counters.h names them.
    if any("validity->set_##name(" in source for source in sources):
        for names in re.findall(r"#define COZ_(?:PUBLISHED_)?EXPERIMENT_COUNTERS\(X\)((?:.*\\\n)*.*)", "\n".join(sources)):
            written.update("Validity." + name for name in re.findall(r"\bX\((\w+)", names))
    everything = {m + "." + field for m, fields in messages.items() for field in fields}
    assert len(everything) > 100 and len(sources) > 5, "the proto or the sources were not found"
    unwritten = sorted(everything - written - ONLY_READ)
    words = set(re.findall(r"\w+", " ".join(sources)))
    unwritten += ["%s.%s" % (enum, value) for enum, values in sorted(enums.items())
                  for value in values if value not in words]
    stale = sorted(field for field in ONLY_READ if field in written or field not in everything)
    for field in unwritten:
        print("%s is written by nobody: write it, or remove and reserve it" % field)
    for field in stale:
        print("%s is written, or gone: take it out of ONLY_READ" % field)
    sys.exit(1 if unwritten or stale else 0)


if __name__ == "__main__":
    main()
