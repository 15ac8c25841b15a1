/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rail: one port of one device, as a server and a client use it. It reads the port through the
 * contract, judges whether RDMA can serve there, and describes it as the address that peers are
 * told. Until a port is ACTIVE its LID, P_Key table, prefix and MTU are unknown, not wrong.
 */
#ifndef SRC_RAIL_RAIL_H
#define SRC_RAIL_RAIL_H

#include "src/config/options.h"
#include "src/fabric/av.h"

#define RAIL_MAX CONFIG_MAX_RAILS
#define RAIL_DETAIL 192
#define RAIL_CQ_DEPTH 4096u
#define RAIL_CLIENT_CQ_DEPTH 16u             /* a client posts nothing */
#define RAIL_REQUERY (10ull * 1000000000ull) /* ns: backstop for events that were lost */

enum rail_state {
    RAIL_WAITING, /* nothing is wrong yet: port down, no subnet manager, no LID, device away */
    RAIL_READY,   /* its address may be told to peers */
    RAIL_REFUSED, /* judged, and RDMA cannot serve here until something changes */
};

enum rail_role {
    RAIL_SERVER, /* initiates RDMA READs, lets nobody read from it */
    RAIL_CLIENT, /* is read from, never reads */
};

struct rail {
    struct fabric *fabric;
    enum rail_role role;
    const struct config_rdma *config; /* outlives the rail */
    char name[FABRIC_NAME_MAX];       /* of the device */
    uint8_t wanted_port;              /* 0: the first ACTIVE one */
    uint8_t port_num;
    fabric_device device;         /* id 0: away */
    enum fabric_error open_error; /* why it is */
    fabric_cq cq;
    uint32_t epoch; /* grows whenever the device was opened: older handles are gone */
    /* Opening it again backs off: a look before `reopen_at` leaves it away. */
    uint64_t opened_at, reopen_at, backoff; /* ns */
    bool waits;                             /* reopen_at is about this loss, not an earlier one */
    uint64_t cookie;     /* the owner's, of the TIMER at reopen_at that asks for a look; 0: none */
    fabric_timer reopen; /* id 0: never set */
    struct fabric_device_attr attr;

    enum rail_state state;
    enum fabric_error reason; /* FABRIC_OK when READY */
    char detail[RAIL_DETAIL]; /* found and expected */
    bool ever_ready;
    struct fabric_port_address address; /* whole only when READY; generation grows with changes */
    struct fabric_port_address before;  /* the last change of it */
    bool only_gids;                     /* the last change: READY all along, on the same device */
    uint64_t reregistrations;           /* events after which nothing had changed */
    uint32_t bad_pkey_cntr;             /* at the last look */
    uint32_t bad_pkey_cntr_ready;       /* when it became READY last */
    struct fabric_port_counters counters_ready; /* then, too; none present: they are not counted */
    struct fabric_dcb dcb;                      /* of an Ethernet port, as it was last told */
    bool noticed, capped_said, limited_said, dcb_said; /* what was said once */
    bool device_lost; /* DEVICE_FATAL, or a call said so: it is closed at the next look */
};

/* One rail for each configured device, or for each device of the node when none is configured;
 * opens what is there, judges nothing yet. Returns how many. */
uint32_t rail_open_all(struct fabric *f, enum rail_role role, const struct config_rdma *config,
                       struct rail rails[RAIL_MAX]);
/* Closes the device: everything made on it is gone. */
void rail_close(struct rail *rail);

/* Looks at the port now. True when state, reason or address changed; then one line was logged and
 * the generation is a new one. Opens a device that came back, unless it is too early for that. */
bool rail_judge(struct rail *rail);
/* The same in two steps, for who has a line of its own to say. */
bool rail_judge_silently(struct rail *rail);
void rail_say(const struct rail *rail);

/* Whether a path that was built before the last change of the rail holds after it: nothing changed
 * but the list of GIDs, and its own is still there, with the same type and index (MK-C4). Then its
 * place in the list is the one of now. To be asked once for each change. */
bool rail_path_stands(const struct rail *rail, struct fabric_path *path);

/* Whether an asynchronous event can have changed this rail, by device and port (MK-C4). */
bool rail_concerned(struct rail *rail, const struct fabric_async *event);
/* rail_judge after such an event; counts one after which nothing had changed. */
bool rail_judge_event(struct rail *rail, const struct fabric_async *event);

/* The P_Key violations that the port has counted by now, or at the last look where the device does
 * not answer; in *growth those since the rail became READY last: 0 before it ever was (MK-D6). */
uint32_t rail_pkey_violations(const struct rail *rail, uint32_t *growth);

const char *rail_state_name(enum rail_state state);

/* How a transfer over this rail fails (MK-C2): no_lid until the LID is known, otherwise the reason.
 * FABRIC_OK when READY. */
enum fabric_error rail_transfer_error(const struct rail *rail);

/* The same fault as seen from the other end: no_lid here is peer_no_lid there. */
enum fabric_error rail_mirror(enum fabric_error error);

/* A fault of configuration: it stays until something is changed, so it is not tried again by time
 * (MK-F3). */
bool rail_is_configuration(enum fabric_error error);

#endif
