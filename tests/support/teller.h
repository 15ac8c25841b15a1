/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that tells what it sees: opens mlx5_0, reports {"started":1}, then {"saw":"NAME"} for
 * each asynchronous event, {"tick":N} every 10 ms when configured with "tick", and answers the
 * commands "cq", "flush" and "sync" with {"cq":"ERROR"}, {"flush":"ERROR"}. Configured with "fail"
 * it does not start.
 */
#ifndef TESTS_SUPPORT_TELLER_H
#define TESTS_SUPPORT_TELLER_H

#include "src/fabric/program.h"

extern const struct fabric_program teller_program;

#endif
