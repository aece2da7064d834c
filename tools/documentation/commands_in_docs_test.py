#!/usr/bin/env python3
"""Every `coz` command in README.md and docs/ is one that coz understands, and every option named there is one of coz's.

Commands run in a folder of their own, where each profile they name is there; what they then make of it is for other tests.
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile

COZ = os.path.abspath("tools/coz")
SAMPLE = os.path.abspath("tools/documentation/profile.pb")
# What the text leaves to the reader.
PLACEHOLDERS = {
    "PID": "4194305",  # above the largest that the kernel gives
    "FORMAT": "csv",
    "CONDITION": "gain(*) > 10%",
    "FILE:LINE": "work.cc:10",
    "FILE": "profile.pb",
}
# Options of other programs.
OTHERS = {"--security-opt", "--cap-add", "--cxxopt", "--peer", "--only", "--rounds", "--config", "--cpus", "--cpuset-cpus",
          "--all-units", "--attach", "--blocks", "--pairs", "--load", "--coz-option", "--parsec", "--partition", "--scheduler"}
USAGE = "--help\n"  # how the sentence on a wrong command line ends


def code_of(text):
    """Lines that are set as code, and what stands between backquotes."""
    for line in text.split("\n"):
        if line.startswith("    "):
            yield line.split("  #")[0].strip()
    for inline in re.findall(r"(?<!`)`([^`]+)`(?!`)", re.sub(r"```.*?```", "", text, flags=re.S)):
        yield re.sub(r"\s+", " ", inline)


def commands_of(code):
    for match in re.finditer(r"(?:^|[ /])coz ([a-z]+)(?= |$)([^|;&#]*)", code):
        arguments = re.sub(r"[][…]", "", match.group(2)).split("  ")[0]
        try:
            yield [match.group(1)] + [PLACEHOLDERS.get(a, a) for a in shlex.split(arguments)]
        except ValueError:
            continue  # a quotation that the table or the sentence cuts


def with_values(arguments):
    for name, value in PLACEHOLDERS.items():
        arguments = [re.sub("=%s$" % name, "=" + value, a) for a in arguments]
    return arguments


def refuses(arguments, folder):
    """What coz says against the command line itself, or ''."""
    for argument in arguments:
        if argument.endswith(".pb") and "/" not in argument and "%" not in argument:
            with open(SAMPLE, "rb") as sample, open(os.path.join(folder, argument), "wb") as profile:
                profile.write(sample.read())
    try:
        done = subprocess.run([COZ] + arguments, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=3,
                              env={**os.environ, "DISPLAY": "", "HOME": folder})
    except subprocess.TimeoutExpired:
        return ""  # it watches or serves
    return done.stderr if done.returncode != 0 and done.stderr.endswith(USAGE) else ""


def options_of(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))


def main():
    os.environ["PATH"] = "/usr/bin:/bin"
    known = set()
    helped = subprocess.run([COZ, "--help"], capture_output=True, text=True, check=True).stdout
    subcommands = re.findall(r"^  ([a-z]+) +\S", helped, re.M)
    for name in subcommands:
        known |= options_of(subprocess.run([COZ, name, "--help"], capture_output=True, text=True, check=True).stdout)
    known |= options_of(helped)

    checked = 0
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for path in sys.argv[1:]:
            with open(path, encoding="utf-8") as file:
                text = file.read()
            for code in code_of(text):
                for arguments in commands_of(code):
                    checked += 1
                    if arguments[0] not in subcommands:
                        wrong.append("%s: there is no coz %s: %s" % (path, arguments[0], code))
                    elif len(arguments) > 1:
                        said = refuses(with_values(arguments), folder)
                        if said:
                            wrong.append("%s: %s\n  %s" % (path, code, said.strip()))
                if code.startswith("--"):
                    checked += 1
                    unknown = options_of(code) - known - OTHERS
                    if unknown:
                        wrong.append("%s: no command has %s: %s" % (path, ", ".join(sorted(unknown)), code))
    print("%d commands and options looked at" % checked)
    if checked < 100:
        wrong.append("too few: does the documentation look otherwise now?")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
