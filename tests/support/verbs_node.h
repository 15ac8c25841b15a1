/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fabric of simfabric, and this very test program run on one of its nodes: there it calls verbs
 * as any program would. Where the plug-in or mount namespaces are missing, tests are skipped.
 */
#ifndef TESTS_SUPPORT_VERBS_NODE_H
#define TESTS_SUPPORT_VERBS_NODE_H

#include <infiniband/verbs.h>

struct node_bed {
    char folder[64], program[256], self[256]; /* of the fabric; simfabric; the test program */
    char output[16384];                       /* of the latest shell command */
};

/* Brings up a fabric of these nodes (YAML); for cmocka's setup and teardown. */
int node_setup(void **state, const char *nodes);
int node_teardown(void **state);
/* A shell command; its exit status, 128+n for a signal. */
__attribute__((format(printf, 2, 3))) int node_shell(struct node_bed *bed, const char *format, ...);
/* Runs this program with that argument on the node, which must end with 0. */
void node_run(struct node_bed *bed, const char *node, const char *argument);

/* ---- On the node. The first device of any node, which the plug-in finds by its environment. */
struct ibv_context *node_open(const char *node);
int node_wrong(const char *what); /* says it and returns 1 */

#endif
