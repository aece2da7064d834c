"""Sources of one library compiled as one, since what they include takes most of a build."""

def together(name, srcs):
    """The sources, for `srcs` of a cc_library or cc_binary. With --config=apart each is compiled by itself.

    They share a translation unit, so two of them cannot give one name to two things, not even in unnamed namespaces.
    That each includes what it uses is checked by clang-tidy, which looks at them apart.

    Args:
      name: of the library or binary.
      srcs: the .cc files.

    Returns:
      What to add to `srcs`.
    """
    joined = name + "_together.cc"
    native.genrule(
        name = name + "_together",
        srcs = srcs,
        outs = [joined],
        # Compilers, debuggers and coverage go by #line, and so tell of the sources.
        cmd = "for source in $(SRCS); do echo \"#line 1 \\\"$$source\\\"\"; cat $$source; done > $@",
        visibility = ["//visibility:private"],
    )
    return select({
        "//build_defs:apart": srcs,
        "//conditions:default": [joined],
    })
