"""A test that runs the coz command."""

def coz_command_test(
        name,
        deps,
        size = "medium",
        puppets = [],
        data = [],
        profiles = True,
        tags = [],
        **kwargs):
    """A cc_test of NAME.cc with the command in its runfiles.

    Args:
      name: of the test; its source is NAME.cc.
      deps: besides gtest.
      size: of the test.
      puppets: names of targets of coz/testing/puppets that it runs or reads.
      data: what else it needs.
      profiles: whether it profiles programs, for which the preload library has to be there. No program starts with one
          that has the thread sanitizer in it.
      tags: of the test, beside that.
      **kwargs: as of cc_test.
    """
    native.cc_test(
        name = name,
        size = size,
        srcs = [name + ".cc"],
        data = data + ["//coz/testing/puppets:" + puppet for puppet in puppets] + ["//tools:coz"] +
               (["//coz/runtime:libcoz.so"] if profiles else []),
        deps = deps + ["@gtest//:gtest_main"],
        tags = tags + (["no_tsan"] if profiles else []),
        **kwargs
    )
