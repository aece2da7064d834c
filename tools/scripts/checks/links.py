#!/usr/bin/env python3
"""Whatever documents and comments refer to exists: links and their anchors, pages, sections, files, Bazel targets.

Usage: links.py [ROOT]

Read are all Markdown pages and the text of all sources, options' help included. A reference is one of these:
  [text](path#anchor)           in Markdown; of addresses with a scheme only the syntax counts
  docs/PAGE.md, "Section"       anywhere; the section is a heading of that page
  coz/sampler/unwind/unwinder.h in Markdown and comments; docs/PAGE.md anywhere
  unwinder_test.cc              a file of ours by its name alone, likewise
  //coz/sampler/unwind:unwinder likewise
A number of an issue or of a section is none: a reader of the tree has neither.
"""
import functools
import os
import re

import tree

_TEXTS = r"(\.(md|h|cc|c|proto|py|sh|bzl|js|css|html)|BUILD\.bazel|\.ci/run|bazelw)$"
# PLACEHOLDERS are written in capitals.
_TOP = r"(?:coz|tools|docs|bench|examples|build_defs|third_party)"
_LINK = re.compile(r"\]\(([^()\s]+)\)")
_PATH = re.compile(r"(?<![\w/.@:$*\"<}-])(%s/(?![A-Z])[\w./*{},+-]*[\w*}])" % _TOP)
_SECTION = re.compile(r"((?:docs/[a-z][\w./-]*|README)\.md),? \\?\"([^\"\\]+)\\?\"")
_NUMBERED = re.compile(r"(?:docs/[\w./-]+|DESIGN|README)\.md,? (?:sections? )?\d[\d.]*\b")
_ISSUE = re.compile(r"\bissue \d+(?:, item \d+)?")
_LABEL = re.compile(r"(?<![\w:@\"])//(%s(?:/[\w./-]*\w)?)(?:(/\.\.\.)|:([\w.+-]*\w))?" % _TOP)
_OWN_NAME = re.compile(r"(?<![\w/.*%$<\"-])([a-z]\w*_(?:test|fuzzer|benchmark)\.(?:cc|py|sh))\b")
_CODE = re.compile(r"^(?!\s*(?://|/?\*|#)).*?(?=\s(?://|#)\s|$)", re.M)
_COMMENT_MARK = re.compile(r"\s*\n\s*(?://|\*|#)\s?")
_FENCE = re.compile(r"^```.*?^```", re.S | re.M)


def slug(heading):
    """The anchor that GitHub gives a heading."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


class Tree:
    def __init__(self, root):
        self.root = root
        self.paths = set(tree.files(root, ""))
        self.names = {os.path.basename(path) for path in self.paths}
        self.folders = {path[:i] for path in self.paths for i, c in enumerate(path) if c == "/"}

    def exists(self, path):
        """Of a path that may have {a,b} and *; an ending may be left away, as of a source and its header."""
        path = path.rstrip("/")
        if path in self.paths or path in self.folders or os.path.exists(os.path.join(self.root, path)):
            return True
        braces = re.search(r"\{([^{}]*)\}", path)
        if braces:
            return all(self.exists(path[:braces.start()] + one + path[braces.end():])
                       for one in braces.group(1).split(","))
        if "*" in path:
            pattern = re.compile(re.escape(path).replace(r"\*", "[^/]*") + "$")
            return any(pattern.match(known) for known in self.paths | self.folders)
        return False

    @functools.lru_cache(None)
    def headings(self, page):
        text = _FENCE.sub("", tree.read(self.root, page))
        return [re.sub(r"\s+#*$", "", line) for line in re.findall(r"^#+ +(.*)$", text, re.M)]

    @functools.lru_cache(None)
    def has_target(self, package, name):
        build = package + "/BUILD.bazel"
        if build not in self.paths:
            return False
        name = name or os.path.basename(package)
        text = tree.read(self.root, build)
        # A macro's targets have its name and an ending.
        return (self.exists(package + "/" + name) or '"%s"' % name in text
                or '"%s"' % re.sub(r"_(fuzzer|corpus_test|test)$", "", name) in text)


def _link_faults(known, page, text):
    for target in _LINK.findall(_FENCE.sub("", text)):
        if re.match(r"\w+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        if not known.exists(there):
            yield "the link %s leads nowhere" % target
        elif anchor and there.endswith(".md") and anchor not in map(slug, known.headings(there)):
            yield "%s has no heading for #%s" % (there, anchor)


def _citation_faults(known, text):
    for page, section in _SECTION.findall(text):
        if known.exists(page) and section not in [h.replace("`", "") for h in known.headings(page)]:
            yield '%s has no section "%s"' % (page, section)
    for match in list(_NUMBERED.finditer(text)) + list(_ISSUE.finditer(text)):
        yield '"%s" is nothing that a reader of this tree can look up' % match.group(0)


def _path_faults(known, text, prose):
    everywhere = [path for path in _PATH.findall(text) if path.startswith("docs/")]
    for path in everywhere + _PATH.findall(prose):
        if not known.exists(path) and not known.exists(re.sub(r"[.,]+$", "", path)):
            yield "%s does not exist" % path
    for name in _OWN_NAME.findall(prose):
        if name not in known.names:
            yield "no file is called %s" % name
    for package, below, name in _LABEL.findall(prose):
        if below or name in ("all", "*") or known.has_target(package, name):
            continue
        yield "there is no target //%s%s" % (package, ":" + name if name else "")


def find_faults(root):
    known = Tree(root)
    faults = []
    for path in sorted(known.paths):
        # The former is not ours, the latter plants faults.
        if not re.search(_TEXTS, path) or path.startswith("third_party/remote") or path.endswith("/checks_test.py"):
            continue
        text = tree.read(root, path)
        found = []
        if path.endswith(".md"):
            found += _link_faults(known, path, text)
            flat = prose = re.sub(r"\s*\n\s*", " ", text)
        else:
            flat, prose = _COMMENT_MARK.sub(" ", text), _COMMENT_MARK.sub(" ", _CODE.sub("", text))
        found += _citation_faults(known, flat)
        found += _path_faults(known, flat, prose)
        faults += ["%s: %s" % (path, fault) for fault in dict.fromkeys(found)]
    return faults


if __name__ == "__main__":
    tree.main("links", find_faults)
