/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a scenario that a test writes down on the fake testbed.
 */
#ifndef TESTS_SUPPORT_SCENARIO_RUN_H
#define TESTS_SUPPORT_SCENARIO_RUN_H

#include "src/scenario/runner.h"
#include "tests/support/fake_testbed.h"

struct scenario_fixture {
    struct scenario *scenario;
    struct scenario_result result;
};

/* `rest` follows nine lines of header: a topology of nodes "server" and "client", each with its
 * program, started at the beginning. A scenario that cannot be read fails the test. */
#define SCENARIO_HEADER_LINES 9
void scenario_fixture_run(struct scenario_fixture *fixture, const char *rest);
void scenario_fixture_free(struct scenario_fixture *fixture);

/* Runs `rest` and wants it passed; or failed at `line` of `rest` (from 1), with `expected` and
 * `found` somewhere in what is said. */
void scenario_passes(const char *rest);
void scenario_fails(const char *rest, unsigned line, const char *expected, const char *found);

#endif
