"""What coz is built from, for its own WORKSPACE and for others that use its libraries."""

load("//third_party/debian:debian.bzl", "debian_system", "debian_unpacked")

_BOOST_MATH_FOLDERS = [
    folder + "/"
    for folder in [
        "assert",
        "concept",
        "config",
        "container",
        "core",
        "detail",
        "exception",
        "iterator",
        "lexical_cast",
        "math",
        "move",
        "mpl",
        "numeric",
        "predef",
        "preprocessor",
        "range",
        "smart_ptr",
        "type_traits",
        "utility",
    ]
]

_BOOST_MATH_HEADERS = [
    header + ".hpp"
    for header in [
        "array",
        "assert",
        "concept_check",
        "config",
        "cstdint",
        "current_function",
        "integer",
        "integer_fwd",
        "integer_traits",
        "lexical_cast",
        "limits",
        "next_prior",
        "noncopyable",
        "static_assert",
        "swap",
        "throw_exception",
        "type",
        "utility",
        "version",
    ]
]

def _debian(name, build_file = None, rule = debian_system, **attributes):
    # A workspace that has brought its own keeps it.
    if native.existing_rule(name) == None:
        # Said from another workspace, a plain "//third_party" would be that one's.
        label = Label("//third_party:" + build_file) if build_file else None
        rule(name = name, build_file = label, **attributes)

def coz_dependencies():
    """Declares the external repositories of coz that are not declared yet. Each is made only when something needs it."""
    _debian(
        name = "com_google_absl",
        generator = "absl",
        packages = ["libabsl-dev"],
    )

    _debian(
        name = "gtest",
        build_file = "gtest.BUILD",
        packages = [
            "libgtest-dev",
            "libgmock-dev",
        ],
    )

    _debian(
        name = "benchmark",
        build_file = "benchmark.BUILD",
        packages = ["libbenchmark-dev"],
    )

    _debian(
        name = "elfutils",
        build_file = "elfutils.BUILD",
        packages = [
            "libdw-dev",
            "libelf-dev",
            "libdebuginfod-dev",
            "zlib1g-dev",
            "liblzma-dev",
            "libbz2-dev",
        ],
    )

    _debian(
        name = "unwind",
        build_file = "unwind.BUILD",
        packages = ["libunwind-dev"],
    )

    _debian(
        name = "zydis",
        build_file = "zydis.BUILD",
        packages = [
            "libzydis-dev",
            "libzycore-dev",
        ],
    )

    _debian(
        name = "com_google_protobuf",
        build_file = "protobuf.BUILD",
        packages = [
            "libprotobuf-dev",
            "protobuf-compiler",
            "zlib1g-dev",
        ],
    )

    _debian(
        name = "cli11",
        build_file = "cli11.BUILD",
        packages = ["libcli11-dev"],
    )

    _debian(
        name = "nlohmann_json",
        build_file = "nlohmann_json.BUILD",
        packages = ["nlohmann-json3-dev"],
    )

    # Boost.Math only, and the headers that it includes: the package has 15,000.
    _debian(
        name = "boost_math",
        build_file = "boost_math.BUILD",
        only = [
            "/usr/include/boost/%s" % path
            for path in _BOOST_MATH_FOLDERS + _BOOST_MATH_HEADERS
        ],
        packages = ["libboost1.74-dev"],
    )

    _debian(
        name = "utf8proc",
        build_file = "utf8proc.BUILD",
        packages = ["libutf8proc-dev"],
    )

    _debian(
        name = "libiberty",
        build_file = "libiberty.BUILD",
        packages = ["libiberty-dev"],
    )

    # D3 draws the plots of the HTML report.
    _debian(
        name = "d3",
        build_file = "d3.BUILD",
        packages = [
            "node-d3-array",
            "node-d3-axis",
            "node-d3-collection",
            "node-d3-color",
            "node-d3-format",
            "node-d3-interpolate",
            "node-d3-path",
            "node-d3-scale",
            "node-d3-selection",
            "node-d3-shape",
            "node-d3-time",
            "node-d3-time-format",
        ],
    )

    # The original's header, for the test that programs built with it run unchanged.
    _debian(
        name = "coz_profiler",
        rule = debian_unpacked,
        build_file = "coz_profiler.BUILD",
        packages = ["coz-profiler"],
    )

    # Much code of a compiler, to try patches on (bench/patch).
    _debian(
        name = "libllvm",
        rule = debian_unpacked,
        build_file = "libllvm.BUILD",
        packages = ["libllvm14"],
    )
