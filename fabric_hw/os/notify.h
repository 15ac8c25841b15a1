/* SPDX-License-Identifier: Apache-2.0 */
/* Telling the service manager how far a service is: one datagram, as sd_notify(3) describes it. */
#ifndef FABRIC_HW_OS_NOTIFY_H
#define FABRIC_HW_OS_NOTIFY_H

#include <stdbool.h>

/* Sends `state`, such as "READY=1", to the socket that NOTIFY_SOCKET named: an absolute path, or
 * one of the abstract namespace after an '@'. It never waits. True when it was sent; false without
 * a socket (null or empty), with a name that is none, and when nobody takes it. */
bool os_notify(const char *socket_name, const char *state);

#endif
