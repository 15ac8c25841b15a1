/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The testbed over machines (HA-4.4, HA-4.5): nodes are agents that are talked to by lines, faults
 * are commands. Processes, files and time come from the host of struct testbed_options, so all of
 * it can be driven by a host that is none.
 */
#ifndef SRC_SCENARIO_REMOTE_H
#define SRC_SCENARIO_REMOTE_H

#include "src/scenario/testbed.h"

extern const struct testbed_ops soft_roce_testbed; /* "soft-roce" */
extern const struct testbed_ops lab_testbed;       /* "lab" */
extern const struct testbed_ops emulated_testbed;  /* "emulated": needs no inventory */

/* Takes back what a run that was killed left on the machines of the inventory; a sentence in
 * `detail` (TESTBED_DETAIL bytes), also when there was nothing. False: something could not be taken
 * back, or another run is under way. */
bool remote_undo(const struct testbed_options *options, char *detail);

#endif
