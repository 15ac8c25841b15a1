# SPDX-License-Identifier: Apache-2.0
"""The house rules that a script can see: form, sizes, comments, assertions, words."""

import collections
import re
import subprocess

import proc

FILE_LINES, FUNCTION_LINES, COLUMNS, LINES_PER_ASSERTION = 600, 70, 100, 40
_ASSERTION = re.compile(r"\b\w*(?:assert|ASSERT)\w*\s*\(")
_WORDS = re.compile(r"/wor" r"k/|\bTO" r"DO\b|\bFIX" r"ME\b|\bXX" r"X\b")
_NAP = re.compile(r"\b(?:u?sleep|nanosleep|clock_nanosleep)\s*\(")
_SPDX = "SPDX-License-Identifier: Apache-2.0"
_NO_SPDX = re.compile(r"^LICENSE$|\.license$")


def check_format(tree):
    paths = [path for path in tree.code() if (tree.root / path).exists()]
    findings = []
    for begin in range(0, len(paths), 40):
        ran = subprocess.run(["clang-format", "--dry-run", "-Werror", *paths[begin:begin + 40]],
                             cwd=tree.root, capture_output=True, text=True)
        first = {}
        for line in ran.stderr.split("\n"):
            match = re.match(r"([^:]+):(\d+):\d+: error:", line)
            if match:
                first.setdefault(match.group(1), match.group(2))
        findings += [f"{path}:{number}: not as clang-format has it (make format)"
                     for path, number in first.items()]
        if ran.returncode and not first:
            findings.append(f"clang-format failed: {ran.stderr.strip()}")
    return findings


def functions(lines):
    """Yields (first line, last line) of every function: formatted, its braces stand in column 1."""
    for number, line in enumerate(lines):
        if line != "{":
            continue
        begin = number
        while begin > 0 and not re.match(r"^$|^[}#/]|^ \*|.*[;{}]$|.*\*/$", lines[begin - 1]):
            begin -= 1
        end = number
        while end + 1 < len(lines) and not lines[end].startswith("}"):
            end += 1
        yield begin + 1, end + 1


def check_sizes(tree):
    findings = []
    for path in tree.code():
        lines = tree.lines(path)
        count = len(lines) - (lines[-1] == "")
        if count > FILE_LINES:
            findings.append(f"{path}:{FILE_LINES + 1}: {count} lines: at most {FILE_LINES}")
        for begin, end in functions(lines):
            if end - begin + 1 > FUNCTION_LINES:
                findings.append(f"{path}:{begin}: a function of {end - begin + 1} lines: "
                                f"at most {FUNCTION_LINES}")
        findings += [f"{path}:{number}: {len(line)} columns: at most {COLUMNS}"
                     for number, line in enumerate(lines, 1) if len(line) > COLUMNS]
    return findings


def check_contract(tree, path="src/fabric/fabric.h", name="fabric_ops"):
    """Every member of the contract's table says in a comment what it promises."""
    if path not in tree.paths:
        return []
    text = tree.text(path)
    table = re.search(r"^struct %s\s*\{\n(.*?)^\};" % name, text, re.M | re.S)
    if not table:
        return [f"{path}:1: no struct {name} in it"]
    findings, start = [], text.count("\n", 0, table.start(1)) + 1
    comment = None
    # A comment, then everything up to the ';' that ends a member; a nested struct is one member.
    for match in re.finditer(r"/\*(.*?)\*/|//([^\n]*)|((?:[^;{/]|\{[^}]*\}|/(?![*/]))*;)",
                             table.group(1), re.S):
        if match.group(3) is None:
            comment = match.group(1) or match.group(2) or ""
            continue
        if comment is None or len(re.findall(r"\w+", comment)) < 3:
            line = start + table.group(1).count("\n", 0, match.end())
            member = " ".join(match.group(3).split())
            findings.append(f"{path}:{line}: no comment says what `{member}` promises")
        comment = None
    return findings


def check_licence_lines(tree):
    known = set(tree.paths)
    return [f"{path}:1: no line with {_SPDX}" for path in tree.paths
            if not _NO_SPDX.search(path) and path + ".license" not in known
            and not any(_SPDX in line for line in tree.lines(path)[:6])]


def check_assertions(tree):
    """At least one in so many lines of C, room by room."""
    lines, assertions = collections.Counter(), collections.Counter()
    for path in tree.code():
        if path.endswith(".c") and path.startswith(("src/", "fabric_sim/")):
            room = path.rsplit("/", 1)[0]
            lines[room] += tree.text(path).count("\n")
            assertions[room] += len(_ASSERTION.findall(tree.text(path)))
    return [f"{room}: {assertions[room]} assertions in {count} lines: "
            f"at least {count // LINES_PER_ASSERTION}"
            for room, count in sorted(lines.items())
            if assertions[room] < count // LINES_PER_ASSERTION]


def check_words(tree):
    findings = []
    for path in tree.paths:
        if path == "LICENSE":
            continue
        for number, line in enumerate(tree.lines(path), 1):
            match = _WORDS.search(line)
            if match:
                findings.append(f"{path}:{number}: '{match.group()}' has no place here")
    return findings


def check_naps(tree):
    """Tests wait for a condition, never for a while."""
    return [f"{path}:{number}: a test that sleeps: wait for the condition"
            for path in tree.code() if path.startswith("tests/")
            for number, line in enumerate(tree.lines(path), 1) if _NAP.search(line)]


def check_install_line(tree):
    """The README's install line is the one that ci/deps prints."""
    if "README.md" not in tree.paths:
        return []
    line = subprocess.run([proc.ROOT / "ci/deps", "--line"], check=True, capture_output=True,
                          text=True).stdout.strip()
    return [] if line in tree.text("README.md") else [f"README.md:1: lacks the line: {line}"]
