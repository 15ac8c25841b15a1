/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with an HTTP end point on port 80 and nothing else. /json and /text are answered with
 * such bodies, /later not before the command "answer", everything else with 404.
 */
#ifndef TESTS_SUPPORT_ANSWERER_H
#define TESTS_SUPPORT_ANSWERER_H

#include "src/fabric/program.h"

extern const struct fabric_program answerer_program;

#endif
