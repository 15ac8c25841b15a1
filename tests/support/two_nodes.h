/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest world: two nodes on one InfiniBand subnet, 10.0.0.1 and 10.0.0.2, an mlx5 device
 * with one port each. */
#ifndef TESTS_SUPPORT_TWO_NODES_H
#define TESTS_SUPPORT_TWO_NODES_H

#include "src/scenario/testbed.h"

/* Names are string literals. Null, and why in `detail` (TESTBED_DETAIL bytes). */
struct testbed *two_nodes_make(const char *first, const char *second, uint64_t seed, char *detail);

#endif
