/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking and changing a fabric that is up, as the operator does: the other end of service_control.c
 * (the fault words of HA-4.3) and service_inspect.c.
 */
#ifndef FABRIC_SIM_SIMFABRIC_CONTROL_H
#define FABRIC_SIM_SIMFABRIC_CONTROL_H

#include "fabric_sim/testbed.h"

/* Whether such a fabric has the word: its programs use the real disks and streams of the machine,
 * make their own calls, and are started by others. */
bool control_has(enum testbed_word word);

/* As the operations of struct testbed_ops, over a connection that client_connect made. `detail` and
 * `answer` have TESTBED_DETAIL bytes. FAILED: the fabric does not answer, or is of another version.
 * process_kill, process_freeze and power_loss are about every program that has a device of the node
 * open. */
enum testbed_result control_fault(int socket, const struct testbed_fault *fault, char *detail);
enum testbed_result control_undo(int socket, char *detail);
enum testbed_result control_ask(int socket, const char *node, const char *query, char *answer);
/* All about the fabric as JSON (docs/simfabric.md): a text that ends in NUL, the caller's to free.
 * Null and a sentence in `detail` when there is none. */
char *control_inspect(int socket, char *detail);

#endif
