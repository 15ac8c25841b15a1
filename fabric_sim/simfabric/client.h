/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other end of the protocol: for the plug-in and for the simfabric command.
 */
#ifndef FABRIC_SIM_SIMFABRIC_CLIENT_H
#define FABRIC_SIM_SIMFABRIC_CLIENT_H

#include "fabric_sim/simfabric/protocol.h"

/* A connection to the daemon at this path; -1, errno says why. */
int client_connect(const char *path);
/* A request of that kind, all else zero. */
struct protocol_request client_request(enum protocol_op op);
/* Sends the request and waits for its reply. `fds` (PROTOCOL_FDS of them, -1 where none came: this
 * process may have no room for one) are the caller's, also with an error; null where none are
 * wanted, then they are closed. Returns 0 or
 * an errno: of the reply, or EIO when the daemon is gone or says something else. One call at a time
 * on a connection. */
int client_call(int socket, const struct protocol_request *request, struct protocol_reply *reply,
                int *fds);

#endif
