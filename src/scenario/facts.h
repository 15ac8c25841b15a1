/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about a node that need no program (`ask`), read through its fabric.
 */
#ifndef SRC_SCENARIO_FACTS_H
#define SRC_SCENARIO_FACTS_H

#include "src/scenario/testbed.h"

/* Answers "mlx5_0/1 lid", "mlx5_0 state", "mlx5_0/1 gid 3" and the like into `answer`
 * (TESTBED_DETAIL bytes); false when it cannot be asked, and `answer` says what there is. */
bool facts_answer(struct fabric *f, const char *query, char *answer);

/* What the fabric and its devices named `devices` can do. */
fabric_caps facts_caps(struct fabric *f);

#endif
