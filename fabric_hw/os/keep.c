/* SPDX-License-Identifier: Apache-2.0 */
/* What is queued may be out of date when it is polled: its object was closed meanwhile. */
#include "fabric_hw/os/state.h"

bool os_keep(struct os_fabric *os, struct fabric_event *event)
{
    switch (event->type) {
    case FABRIC_EVENT_TIMER:
        return os_timer_keep(os, event);
    case FABRIC_EVENT_ACCEPTED:
    case FABRIC_EVENT_CONNECTED:
    case FABRIC_EVENT_READABLE:
    case FABRIC_EVENT_WRITABLE:
    case FABRIC_EVENT_CLOSED:
        return os_stream_keep(os, event);
    case FABRIC_EVENT_HTTP_REQUEST:
        return os_http_keep(os, event);
    case FABRIC_EVENT_IO_DONE:
    case FABRIC_EVENT_WOKEN:
        return true;
    default: /* of a device */
        assert(os->part);
        return !os->part->keep || os->part->keep(os->part_state, event);
    }
}
