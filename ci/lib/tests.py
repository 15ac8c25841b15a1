# SPDX-License-Identifier: Apache-2.0
"""Runs test programs and scenario files and reads what they report."""

import os
import re
from pathlib import Path

import proc

SUMMARY = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$")
_RESULT = re.compile(r"^(not ok|ok) \d+ (?:- (.*)|# SKIP (.*))$")
_PLAN = re.compile(r"^1\.\.(\d+)$")
_LISTED = re.compile(r"\bcmocka_unit_test\w*\(\s*(\w+)")

ENV = {
    "CMOCKA_MESSAGE_OUTPUT": "TAP",
    "ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1",
}


class Report:
    """What one program said: counts, the first lines of why it failed, and all it printed."""

    def __init__(self, name):
        self.name = name
        self.passed = self.failed = self.skipped = 0
        self.reasons = []
        self.skips = []  # "NAME: why"
        self.output = ""

    def fail(self, reason):
        self.failed += 1
        self.reasons.append(reason)


def list_tests(variant):
    """The test programs of a variant, as the Makefile knows them."""
    ran = proc.run(["make", "-s", "--no-print-directory", f"VARIANT={variant}", "list-tests"])
    return [line for line in ran.out.split("\n") if line]


def short_name(program):
    return program.split("/tests/", 1)[-1]


def _sources(program):
    """The C files a test program is made of."""
    base = proc.ROOT / "tests" / short_name(program)
    one = base.with_suffix(".c")
    return [one] if one.exists() else sorted(base.parent.glob("*.c"))


def _guess_running(program, finished):
    """The test that was running when a program died: the next one that its source lists."""
    for source in _sources(program):
        listed = _LISTED.findall(source.read_text(errors="replace"))
        if len(listed) > len(finished) and listed[:len(finished)] == finished:
            return listed[len(finished)]
        if finished and finished[-1] in listed[:-1]:
            return listed[listed.index(finished[-1]) + 1]
    return f"after {finished[-1]}" if finished else "before the first test"


def _last_words(ran):
    """The line that best says why a program died."""
    lines = [line.strip() for line in (ran.err + "\n" + ran.out).split("\n") if line.strip()]
    for line in lines:
        if re.search(r"Assertion .* failed|ERROR: \w+Sanitizer|runtime error:", line):
            return line
    return lines[-1] if lines else "it said nothing"


def _read_tap(report, out):
    """Counts results; returns (tests finished in order, tests planned)."""
    finished, planned, remarks = [], 0, []
    for line in out.split("\n"):
        plan, result = _PLAN.match(line), _RESULT.match(line)
        if plan:
            planned += int(plan.group(1))
        if line.startswith("# ") and not line.startswith("# ok - "):
            remarks.append(line[2:].strip())
        if not result:
            continue
        finished.append(result.group(2) or result.group(3))
        why, remarks = remarks, []
        if result.group(3) is not None:
            report.skipped += 1
            report.skips.append(f"{result.group(3)}: {', '.join(why) or 'it does not say why'}")
        elif result.group(1) == "ok":
            report.passed += 1
        else:
            report.fail(finished[-1])
    return finished, planned


def run_program(program, timeout=300, env=None):
    """Runs one cmocka program. A crash, a hang, no test at all: each is a failure with a name."""
    report = Report(short_name(program))
    # In one stream, so that why a test was skipped stands before its result.
    ran = proc.run(["sh", "-c", 'exec "$0" 2>&1', program], timeout=timeout, env={**ENV, **(env or {})})
    report.output = ran.out + ran.err
    finished, planned = _read_tap(report, ran.out)
    if ran.status is None:
        report.fail(f"{_guess_running(program, finished)}: hung, no end within {timeout:.0f} s")
    elif ran.status < 0 or len(finished) < planned:
        how = f"signal {-ran.status}" if ran.status < 0 else f"exit {ran.status}"
        report.fail(f"{_guess_running(program, finished)}: died ({how}): {_last_words(ran)}")
    elif planned == 0:
        report.fail(f"ran no test (exit {ran.status})")
    elif len(finished) > planned:
        report.fail(f"reported {len(finished)} tests and had planned {planned}")
    elif ran.status != 0 and report.failed == 0:
        report.fail(f"exit {ran.status} with every test passed: {_last_words(ran)}")
    elif ran.status == 0 and report.failed:
        report.fail("exit 0 in spite of failures")
    return report


def has_scenarios(variant):
    return (proc.ROOT / "build" / variant / "memkv-scenario").exists() and \
        any(proc.ROOT.glob("scenarios/**/*.yaml"))


def run_scenarios(variant, path="scenarios", timeout=1800, env=None, options=()):
    """Runs scenario files on the simulator; their last line gives the counts."""
    report = Report(path)
    ran = proc.run([f"build/{variant}/memkv-scenario", "run", path, "--fabric", "sim", *options],
                   timeout=timeout, env={**ENV, **(env or {})})
    report.output = ran.out + ran.err
    lines = ran.out.rstrip("\n").split("\n")
    counts = SUMMARY.match(lines[-1])
    if ran.status is None:
        report.fail(f"hung, no end within {timeout:.0f} s")
    elif not counts:
        report.fail(f"no count at the end (exit {ran.status}): {_last_words(ran)}")
    else:
        report.passed, report.failed, report.skipped = map(int, counts.groups())
        report.reasons = [line for line in lines if re.search(r"\bFAIL", line)][:report.failed]
        if ran.status not in (0, 4) and report.failed == 0:
            report.fail(f"exit {ran.status} with every scenario passed: {_last_words(ran)}")
        if ran.status == 0 and report.failed:
            report.reasons.append("exit 0 in spite of failures")
    return report
