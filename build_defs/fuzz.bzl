"""A fuzz target, and a test that runs it over its corpus with any compiler, so that no find comes back."""

def fuzz_target(name, corpus, deps, srcs = None, tags = []):
    """NAME_fuzzer for tools/scripts/fuzz.sh (clang's libFuzzer) and NAME_corpus_test.

    Args:
      name: NAME_fuzzer.cc holds LLVMFuzzerTestOneInput.
      corpus: the folder of seeds and finds, below this package; or the label of a filegroup and its folder, in a tuple.
      deps: of the fuzzer.
      srcs: other than NAME_fuzzer.cc.
      tags: of the test.
    """
    srcs = srcs or [name + "_fuzzer.cc"]
    if type(corpus) == type(""):
        data = native.glob([corpus + "/*"])
        folder = native.package_name() + "/" + corpus
    else:
        data = [corpus[0]]
        folder = corpus[1]
    native.cc_binary(
        name = name + "_fuzzer",
        testonly = True,
        srcs = srcs,
        copts = ["-fsanitize=fuzzer,address"],
        linkopts = ["-fsanitize=fuzzer,address"],
        tags = ["manual"],
        deps = deps,
    )
    native.cc_test(
        name = name + "_corpus_test",
        size = "small",
        srcs = srcs,
        args = [folder],
        data = data,
        tags = tags,
        deps = deps + ["//coz/testing:replay_corpus"],
    )
