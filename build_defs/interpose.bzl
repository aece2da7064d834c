"""The three shapes of target in coz/sync/interpose. NAME.cc and NAME.h are the sources of NAME."""

_TESTING = "//coz/sync/interpose/testing:"

# The rooms that run in the target and use this one.
IN_TARGET = [
    "//bench:__subpackages__",
    "//coz/runtime:__subpackages__",
    "//coz/sync/interpose:__subpackages__",
]

# The sanitizers stand in front of the same calls.
NO_SANITIZER = ["no_asan", "no_tsan"]

def handler_library(name, srcs = None, hdrs = None, tags = [], **kwargs):
    """Code of the target that signal handlers may call, in the preload library.

    Args:
      name: of the library.
      srcs: other than NAME.cc.
      hdrs: other than NAME.h.
      tags: beside signal_safe.
      **kwargs: as of cc_library.
    """
    native.cc_library(
        name = name,
        srcs = [name + ".cc"] if srcs == None else srcs,
        hdrs = [name + ".h"] if hdrs == None else hdrs,
        copts = ["-fPIC"],
        linkstatic = True,
        tags = tags + ["signal_safe"],
        visibility = IN_TARGET,
        **kwargs
    )

def wrapping_library(name, **kwargs):
    """Defines functions of libc or libgomp: whoever links it stands in front of these.

    Threads are cancelled in the middle of such calls. The unwinder passes frames that have a table
    but nothing to run, hence the options.

    Args:
      name: of the library.
      **kwargs: as of cc_library.
    """
    native.cc_library(
        name = name,
        copts = [
            "-fPIC",
            "-fasynchronous-unwind-tables",
            "-fno-exceptions",
            "-fomit-frame-pointer",
        ],
        linkstatic = True,
        visibility = IN_TARGET,
        alwayslink = True,
        **kwargs
    )

def interpose_test(name, deps = [], size = "medium", **kwargs):
    """A test of wrapped calls, in a process that stands in front of libc.

    Args:
      name: NAME.cc is the source.
      deps: beside the wrapped calls, the fake process and what nearly every such test uses.
      size: of the test.
      **kwargs: as of cc_test.
    """
    native.cc_test(
        name = name,
        size = size,
        srcs = [name + ".cc"],
        tags = NO_SANITIZER,
        deps = deps + [
            ":interpose",
            ":thread_sync",
            ":wrapped_calls",
            "//coz/base:clock",
            "//coz/base:raw_syscall",
            _TESTING + "fake_process",
            _TESTING + "wait_scenario",
            "@gtest//:gtest_main",
        ],
        **kwargs
    )

def preload_test(name, library, programs):
    """Runs programs with a library preloaded; each tells by its exit status.

    Args:
      name: of the test.
      library: the shared object.
      programs: labels of executables.
    """
    native.sh_test(
        name = name,
        size = "medium",
        srcs = ["preload_test.sh"],
        args = ["$(rootpath %s)" % label for label in [library] + programs],
        data = [library] + programs,
        tags = NO_SANITIZER + ["no_ubsan"],
    )
