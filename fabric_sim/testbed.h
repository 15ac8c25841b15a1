/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The testbed of src/scenario/testbed.h in virtual time.
 */
#ifndef FABRIC_SIM_TESTBED_H
#define FABRIC_SIM_TESTBED_H

#include "fabric_sim/fabric.h"
#include "src/scenario/testbed.h"

extern const struct testbed_ops sim_testbed;

/* sim_testbed.create for a world whose devices are worked by programs outside this process. */
struct testbed *sim_testbed_create(const struct topology *topology,
                                   const struct testbed_options *options,
                                   const struct sim_outside *outside, char *detail);

/* The world behind a testbed that sim_testbed made, for tests that look closer. */
struct sim_world *sim_testbed_world(struct testbed *tb);

#endif
