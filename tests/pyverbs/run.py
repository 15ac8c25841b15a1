# SPDX-License-Identifier: Apache-2.0
"""Runs rdma-core's pyverbs suite in the current folder and prints one line a test: PASS, SKIP or
FAIL, its name, a TAB and what the suite says about it. For ci/show/pyverbs, on a simulated node."""

import random
import sys
import unittest


class Lines(unittest.TestResult):
    """One line a test, also of one whose set-up failed."""

    def line(self, word, test, why=""):
        first = why.strip().splitlines()
        print(f"{word} {test.id()}\t{first[-1] if first else ''}", flush=True)

    def startTest(self, test):
        super().startTest(test)
        random.seed(test.id())  # the suite draws attributes

    def addSuccess(self, test):
        self.line("PASS", test)

    def addSkip(self, test, reason):
        self.line("SKIP", test, reason)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.line("FAIL", test, self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self.line("FAIL", test, self.errors[-1][1])

    def addExpectedFailure(self, test, err):
        self.line("FAIL", test, "expected to fail")

    def addUnexpectedSuccess(self, test):
        self.line("FAIL", test, "expected to fail, and did not")


sys.argv[1:] = []
sys.path[:0] = [".", "tests"]
import args_parser

args_parser.parser.parse_args()
import tests

unittest.defaultTestLoader.loadTestsFromModule(tests).run(Lines())
