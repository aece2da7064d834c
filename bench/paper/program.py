"""What the bench has to know of a program of the paper: a subclass for each, in programs.py."""
import os
import pathlib
import re

import parsec
from other_benches import processes

HERE = pathlib.Path(__file__).resolve().parent
BEFORE, AFTER, ORIGINAL = "before", "after", "original"  # the last: before, built for the original Coz
_MARK_HEADER = HERE.parents[1] / "coz/runtime"
# The original reads DWARF 4 without view numbers.
FLAGS = {BEFORE: ("-g",), AFTER: ("-g",), ORIGINAL: ("-gdwarf-4", "-gno-variable-location-views")}
_BUILD_LIMIT_S = 600


class Program:
    name = ""
    packages = ()        # Debian packages that it needs
    sources = ""         # its path in PARSEC; empty: it is not from there
    compiler = "gcc"
    files = ()           # to compile, below its folder
    flags = ()
    libraries = ()
    marks = ()           # edits that put the progress point in, and what today's compilers ask for
    changes = {}         # variant: edits
    coz_options = ("-b", "MAIN")
    point = ""           # its name
    unit = ""            # what the change makes cheaper: a name for `patterns`
    patterns = ()        # of coz's --group
    named = ""           # a regular expression for "file:line function": the lines that the paper names
    change = ""          # in a few words
    unlike = ""          # why the change is not what a faster unit would be, so that no prediction is compared with it
    spins = False        # whether the paper's line waits on its CPU, and the change makes it give the CPU up
    share = None         # by which the change makes the unit faster, where it is not measured
    cost_s = 1           # how long profiles take that do measure it
    run_s = 5            # about how long a run takes
    paper_line = ""      # what the paper found
    paper_gain = ""      # the program's, there

    repository = None    # a git folder with PARSEC's commit, where it has sources there

    def __init__(self, folder, peer):
        """`peer`: the original's command, or None."""
        self.folder = pathlib.Path(folder) / self.name
        self.peer = peer

    def variants(self):
        return (BEFORE, AFTER) + ((ORIGINAL,) if self.peer else ())

    def build(self):
        """Makes a program of each variant, and the inputs."""
        for variant in self.variants():
            self._build(variant)
        self.make_inputs()

    def _build(self, variant):
        place = self.folder / variant
        if (place / "program").exists():
            return
        place.mkdir(parents=True, exist_ok=True)
        if self.sources:
            parsec.unpack(self.repository, self.sources, place)
        for edit in (*self.marks, *self.changes.get(AFTER if variant == AFTER else BEFORE, ())):
            edit.apply(place)
        self.prepare(place)
        self.compile(place, variant, [self.compiler, *self.files, *self.libraries], "program")

    def compile(self, place, variant, words, output):
        """Compiles; `words`: the compiler, sources below `place`, and libraries."""
        compiler, *rest = words
        sources = [path for word in rest if not word.startswith("-") for path in sorted(place.glob(word))]
        header = self.peer.parents[1] / "include" if variant == ORIGINAL else _MARK_HEADER
        processes.run([compiler, "-O2", "-w", *FLAGS[variant], "-DENABLE_PARSEC_HOOKS", "-I", header, "-I", HERE, *self.flags, *sources,
                       "-x", "c++" if compiler == "g++" else "c", HERE / "hooks.c", "-x", "none",
                       "-pthread", *(word for word in rest if word.startswith("-")), "-ldl", "-o", output], _BUILD_LIMIT_S,
                      self.folder / ("%s-%s-build.log" % (variant, output)), cwd=place)

    def prepare(self, _place):
        """Whatever the sources need beside edits."""

    def make_inputs(self):
        """Once, below its folder."""

    def arguments(self, variant):
        """Of a run of some seconds."""
        raise NotImplementedError

    def command(self, variant):
        return [self.folder / variant / "program", *map(str, self.arguments(variant))]

    def line(self, variant, prefix):
        """The command behind `prefix`, which profiles it."""
        return [*prefix, *self.command(variant)]

    def environment(self, _variant):
        return {}

    def run(self, variant, prefix, limit_s, log, extra_environment=None):
        """Runs it behind `prefix`; what it printed."""
        environment = {**os.environ, **self.environment(variant), **(extra_environment or {})}
        return processes.run(self.line(variant, prefix), limit_s, log, cwd=self.folder, env=environment)


    def rate(self, output):
        """Of work in what a run has printed: only to be compared with that of another run."""
        return 1 / region_s(output)

    def named_lines(self):
        """`named` for a profile that knows no functions: their lines are those of BEFORE."""
        return self.named


def region_s(output):
    """How long the region of interest took, by hooks.c."""
    found = re.search(r"^region: ([\d.]+) s$", output, re.M)
    if not found:
        raise processes.Failed("the program printed no region but: %s" % (output.strip()[-300:] or "nothing"))
    return float(found.group(1))
