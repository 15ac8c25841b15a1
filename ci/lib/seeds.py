# SPDX-License-Identifier: Apache-2.0
"""Programs of tests/show that take FIRST and COUNT seeds and end with a line of figures: run over all
cores, and over planted bugs, each of which must be noticed."""

import collections
import concurrent.futures
import re

import proc

PARTS = 8  # of the seeds, so that every core has work to the end
FIGURE = re.compile(r"(\d+) (\w+)")


def build(*programs):
    """Both variants; False when make failed, which was said."""
    return all(proc.make(f"VARIANT={variant}", *[f"build/{variant}/tests/show/{name}"
                                                  for name in programs])
               for variant in ("release", "planted"))


def search(program, seeds, timeout=600):
    """All seeds from 1 on: the sums of the figures, and what was said by parts that failed."""
    each = -(-seeds // PARTS)
    figures, wrong = collections.Counter(), []

    def part(i):
        return proc.run([f"build/release/tests/show/{program}", str(1 + i * each),
                         str(min(each, seeds - i * each))], timeout=timeout)

    with concurrent.futures.ThreadPoolExecutor(proc.JOBS) as pool:
        for ran in pool.map(part, range(-(-seeds // each))):
            lines = ran.out.splitlines() or [""]
            figures.update({name: int(number) for number, name in FIGURE.findall(lines[-1])})
            if ran.status != 0:
                wrong.append(ran.out + ran.err)
    return figures, wrong


def caught_by(program, bug, seeds=1000, timeout=300):
    """The first thing that gave the bug away, or None: a violation, or an assertion."""
    ran = proc.run([f"build/planted/tests/show/{program}", "1", str(seeds)], timeout=timeout,
                   env={"MEMKV_PLANTED": bug})
    if ran.status == 1:
        return ran.out.split("\n")[0]
    return ran.err.strip().split("\n")[-1] if ran.status == -6 else None


def catch(planted):
    """{bug: program} to the number that was noticed; says each."""
    with concurrent.futures.ThreadPoolExecutor(proc.JOBS) as pool:
        caught = pool.map(lambda bug: caught_by(planted[bug], bug), planted)
        found = 0
        for bug, by in zip(planted, caught):
            print(f"{bug}: {by or 'NOT CAUGHT'}")
            found += by is not None
    return found


def count(arguments, default, text):
    """The number of seeds of a command line, or None: wrong usage, and `text` was printed."""
    if len(arguments) > 1 or arguments and not arguments[0].isdigit():
        print(text)
        return None
    return int(arguments[0]) if arguments else default
