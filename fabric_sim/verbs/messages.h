/* SPDX-License-Identifier: Apache-2.0 */
/* The message engine (fabric_sim/hca/message.h) in a program; see messages.c. */
#ifndef FABRIC_SIM_VERBS_MESSAGES_H
#define FABRIC_SIM_VERBS_MESSAGES_H

#include <stdbool.h>

struct plugin_context;
struct plugin_qp;
struct plugin_messages;

/* Null without memory: everything goes as packets then. */
struct plugin_messages *messages_new(struct plugin_context *context);
void messages_free(struct plugin_messages *messages);
/* After posts, with the lock of the fabric held: carries what it may of the queue pair's requests.
 * It may give the lock back meanwhile to ask the daemon. Sets *wakes when the daemon is to be woken
 * once the lock was given back. False: the lock is lost for good, and is not held. */
bool messages_carry(struct plugin_context *context, const struct plugin_qp *qp, bool *wakes);

#endif
