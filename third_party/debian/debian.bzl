"""External repositories made of Debian packages: only the files of the named packages are visible."""

load("//third_party/debian:absl.bzl", "generate_absl")

_PREFIXES = ["/usr/include/", "/usr/lib/", "/usr/bin/", "/usr/share/nodejs/"]

def _tested_versions(ctx):
    versions = {}
    for line in ctx.read(ctx.attr._lock).split("\n"):
        words = line.split(" ")
        if len(words) == 2 and not line.startswith("#"):
            versions[words[0]] = words[1]
    return versions

def _is_tested(ctx, tested, package):
    if package not in tested:
        fail("@%s: add %s with its version to third_party/debian/%s" % (ctx.name, package, ctx.attr._lock.name))

def _compare_version(tested, package, version):
    if version != tested[package]:
        # buildifier: disable=print
        print("%s is %s here, tested was %s" % (package, version, tested[package]))

def _check_installed(ctx):
    tested = _tested_versions(ctx)
    missing = []
    for package in ctx.attr.packages:
        _is_tested(ctx, tested, package)
        r = ctx.execute(["dpkg-query", "--show", "--showformat=${db:Status-Status} ${Version}", package])
        status, _, version = r.stdout.partition(" ")
        if r.return_code or status != "installed":
            missing.append(package)
        else:
            _compare_version(tested, package, version)
    if missing:
        fail("@%s needs Debian packages that are not installed; run\n\n    apt-get install %s\n" % (ctx.name, " ".join(missing)))

def _debian_system_impl(ctx):
    _check_installed(ctx)
    r = ctx.execute(["sh", "-c", "dpkg-query --listfiles \"$@\" | while read -r f; do test -d \"$f\" || echo \"$f\"; done", "sh"] + ctx.attr.packages)
    for f in r.stdout.split("\n"):
        licence = f.startswith("/usr/share/doc/") and f.endswith("/copyright")
        if licence or [p for p in ctx.attr.only or _PREFIXES if f.startswith(p)]:
            ctx.symlink(f, f[1:])
    if ctx.attr.build_file:
        ctx.symlink(ctx.attr.build_file, "BUILD.bazel")
    elif ctx.attr.generator == "absl":
        generate_absl(ctx)
    else:
        fail("either build_file or generator must be given")

debian_system = repository_rule(
    implementation = _debian_system_impl,
    attrs = {
        "packages": attr.string_list(mandatory = True),
        "only": attr.string_list(doc = "of a large package, what the paths of the files needed begin with"),
        "build_file": attr.label(allow_single_file = True),
        "generator": attr.string(doc = "'absl': write BUILD files out of the pkg-config files"),
        "_lock": attr.label(default = "//third_party/debian:packages.lock", allow_single_file = True),
    },
    configure = True,
)

def _debian_unpacked_impl(ctx):
    tested = _tested_versions(ctx)
    for package in ctx.attr.packages:
        _is_tested(ctx, tested, package)
        r = ctx.execute([ctx.path(ctx.attr._unpack), package, "."])
        if r.return_code:
            fail("@%s: %s" % (ctx.name, r.stderr))
        _compare_version(tested, package, ctx.execute(["sh", "-c", "zcat usr/share/doc/%s/changelog.Debian.gz | sed -n '1s/.*(\\(.*\\)).*/\\1/p'" % package]).stdout.strip())
    ctx.symlink(ctx.attr.build_file, "BUILD.bazel")

# The same of packages that are downloaded and unpacked, and not installed.
debian_unpacked = repository_rule(
    implementation = _debian_unpacked_impl,
    attrs = {
        "packages": attr.string_list(mandatory = True),
        "build_file": attr.label(allow_single_file = True, mandatory = True),
        "_lock": attr.label(default = "//third_party/debian:unpacked.lock", allow_single_file = True),
        "_unpack": attr.label(default = "//third_party/debian:unpack.sh", allow_single_file = True),
    },
)
