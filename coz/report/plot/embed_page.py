"""Makes C++ source of the report's page: style, scripts, libraries and licences in one HTML text, with a hash of each script and
style in its content security policy, and a gap for the data.

usage: embed_page.py OUT.cc --page page.html --style page.css --libraries a.js … --scripts a.js … --licences copyright …
"""
import base64
import hashlib
import html
import re
import sys


def arguments(words):
    groups = {}
    for word in words:
        if word.startswith("--"):
            name = word[2:]
            groups[name] = []
        else:
            groups[name].append(word)
    return groups


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def source_hash(text):
    return "'sha256-%s'" % base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def licence_text(paths):
    texts = []
    for path in paths:
        package = path.split("/")[-2]
        texts.append("%s\n%s\n\n%s" % (package, "=" * len(package), read(path).strip()))
    return "\n\n\n".join(texts)


def page(groups):
    script = "\n".join(read(path).rstrip() for path in groups["libraries"])
    own = "\n".join(read(path) for path in groups["scripts"])
    script += "\n(() => {\n'use strict';\n%s})();\n" % own
    style = "".join(read(path) for path in groups["style"])
    for text in (script, style):
        if "</script" in text.lower() or "</style" in text.lower() or "<!--" in text:
            sys.exit("embed_page.py: a script or style holds a tag that would end it")
    policy = "; ".join([
        "default-src 'none'",
        "script-src " + source_hash(script),
        "style-src " + source_hash(style),
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    ])
    parts = {
        "CSP": policy,
        "STYLE": style,
        "LICENCES": html.escape(licence_text(groups["licences"]), quote=False),
        "SCRIPT": script,
        "DATA": None,
    }
    # Odd pieces are the names of marks.
    pieces = re.split("@(%s)@" % "|".join(parts), read(groups["page"][0]))
    filled = [parts[piece] if i % 2 else piece for i, piece in enumerate(pieces)]
    gap = filled.index(None)
    return "".join(filled[:gap]), "".join(filled[gap + 1:])


def literal(name, text):
    # Compilers limit the length of one literal, not of several beside each other.
    chunks = [text[i:i + 4000] for i in range(0, len(text), 4000)]
    body = "\n".join('R"~page~(%s)~page~"' % chunk for chunk in chunks)
    return (
        "extern const char %s[];\nextern const unsigned long %sBytes;\n" % (name, name) +
        "const char %s[] =\n%s;\nconst unsigned long %sBytes = sizeof(%s) - 1;\n" % (name, body, name, name)
    )


def main():
    out = sys.argv[1]
    head, tail = page(arguments(sys.argv[2:]))
    with open(out, "w", encoding="utf-8") as file:
        file.write("// Made by embed_page.py.\nnamespace coz::report {\n%s%s}  // namespace coz::report\n" % (literal("kPageHead", head), literal("kPageTail", tail)))


main()
