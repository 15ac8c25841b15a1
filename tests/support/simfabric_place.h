/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A place to type simfabric's commands in: a folder of its own with the topology of two nodes, and
 * the program that was built with the tests.
 */
#ifndef TESTS_SUPPORT_SIMFABRIC_PLACE_H
#define TESTS_SUPPORT_SIMFABRIC_PLACE_H

#include <stdbool.h>

#define OUTPUT 16384

struct place {
    char folder[64], program[256], self[256];
    char output[OUTPUT];
    unsigned port; /* of TCP, for programs that exchange addresses over it */
};

/* For cmocka: *state becomes the place, with its folder as XDG_RUNTIME_DIR; afterwards the fabrics
 * `default` and `other` are brought down and the folder is gone. */
int place_setup(void **state);
int place_teardown(void **state);

/* Runs a shell command in which $S is simfabric; its exit status. What it said is in `output`. */
int shell(struct place *place, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool said(const struct place *place, const char *text);

void bring_up(struct place *place, const char *name); /* the two nodes, under that name */

/* Each leaves the test out where it cannot be: without mount namespaces; without these or the
 * plug-in, else the fabric `default` is up; without that program. */
void need_namespaces(struct place *place);
void need_node(struct place *place);
void need_program(struct place *place, const char *program);

#endif
