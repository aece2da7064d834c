"""A test of what handler code calls outside of itself."""

def _pic_archives_impl(ctx):
    archives = []
    for dep in ctx.attr.deps:
        for linked in dep[CcInfo].linking_context.linker_inputs.to_list():
            # Nothing of other workspaces: calls of theirs are on the list, or are not.
            if linked.owner.workspace_name == "":
                archives += [library.pic_static_library for library in linked.libraries if library.pic_static_library]
    return [DefaultInfo(files = depset(archives), runfiles = ctx.runfiles(archives))]

# The position independent archives of cc_libraries and of all that they depend on.
_pic_archives = rule(
    implementation = _pic_archives_impl,
    attrs = {"deps": attr.label_list(providers = [CcInfo])},
)

def symbols_test(name, deps, allowed = "allowed_symbols.txt"):
    """Checks that libraries, with all that they depend on, leave no symbol undefined but those on a list.

    Args:
      name: of the test.
      deps: the libraries.
      allowed: the list, a symbol a line.
    """
    _pic_archives(
        name = name + "_archives",
        visibility = ["//visibility:private"],
        deps = deps,
    )
    native.sh_test(
        name = name,
        size = "small",
        srcs = ["//build_defs:symbols_test.sh"],
        args = [
            "$(location %s)" % allowed,
            "$(locations :%s_archives)" % name,
        ],
        data = [
            allowed,
            ":%s_archives" % name,
        ],
        # The sanitizers call their own.
        tags = [
            "no_asan",
            "no_tsan",
            "no_ubsan",
        ],
    )
