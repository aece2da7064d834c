"""Builds the fixture program with exactly the given flags, whatever configuration the test itself is built with."""

_SOURCES = [
    "fixture.cc",
    "fixture.h",
    "fixture_part.cc",
]

def fixture(name, flags, outs = [], commands = [], visibility = None):
    """Makes NAME/fixture, and `outs` beside it.

    Args:
      name: of the folder and of the target.
      flags: of g++, for compiling and linking.
      outs: names of further files that the commands leave in the folder.
      commands: run in that folder afterwards.
      visibility: of the target, besides the rooms of the package.
    """
    folder = "$$PWD/$(RULEDIR)/" + name
    native.genrule(
        name = name,
        testonly = True,
        srcs = _SOURCES,
        outs = ["%s/%s" % (name, out) for out in ["fixture"] + outs],
        # Compiled within the output folder, because the names of .dwo files are derived from those of the outputs. The
        # sandbox's own folder, a new one every time, is replaced in the debug information by /fixture.
        cmd = " && ".join([
            "root=$$PWD",
            "cd " + folder,
            "for part in fixture fixture_part; do " +
            "g++ -std=c++17 -ffile-prefix-map=$$root=/fixture %s " % flags +
            "-I$$root -c $$root/coz/sourcemap/testdata/$$part.cc -o $$part.o || exit 1; done",
            "g++ %s fixture.o fixture_part.o -o fixture" % flags,
            "rm -f fixture.o fixture_part.o",
        ] + commands),
        message = "Building the fixture " + name,
        visibility = visibility if visibility == None else ["//coz/sourcemap:__subpackages__"] + visibility,
    )
