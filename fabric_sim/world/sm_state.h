/* SPDX-License-Identifier: Apache-2.0 */
/* What sm*.c share; nobody else includes it. */
#ifndef FABRIC_SIM_WORLD_SM_STATE_H
#define FABRIC_SIM_WORLD_SM_STATE_H

#include "fabric_sim/world/guid_map.h"
#include "fabric_sim/world/sm.h"

#define SM_NONE UINT32_MAX
#define SM_SLOTS 64       /* datagrams under way, at most */
#define SM_PKEY_BLOCKS 4  /* of 32 entries: PORT_PKEYS */
#define SM_GROUP_BLOCKS 4 /* of 32 groups */
#define SM_GROUPS (SM_GROUP_BLOCKS * MAD_MFT_PER_BLOCK)

/* ---- the view: what the last discovery found, in the order of finding */
struct sm_node {
    uint64_t guid;
    uint32_t first_port; /* index of port 0 in sm_view.ports; num_ports + 1 of them follow */
    uint32_t sw;         /* index in sm_view.switches, SM_NONE for others */
    uint16_t partition_cap;
    uint8_t type, num_ports;
    uint8_t hops; /* of switches: the route by which it was found */
    uint8_t path[MAD_MAX_HOPS];
};

struct sm_vport {
    uint32_t node;
    uint32_t peer;   /* index of the port at the other end, SM_NONE */
    uint32_t record; /* of HCA ports and port 0 of switches, SM_NONE for others */
    uint8_t num;
    bool known;                /* its PortInfo was read */
    bool fresh;                /* was waiting in INIT or is new: needs re-registration */
    struct mad_port_info info; /* as last read or set */
};

struct sm_view {
    struct sm_node *nodes;
    struct sm_vport *ports;
    uint32_t *switches; /* node indices */
    size_t node_count, node_room, port_count, port_room, switch_count, switch_room;
    struct guid_map by_guid; /* node GUID to node */
    size_t silent;           /* cabled ports behind which nobody answered */
};

/* ---- records: what is remembered of a port GUID (a switch: its node GUID) over sweeps */
struct sm_record {
    uint64_t guid;
    uint32_t seen;       /* number of the heavy sweep that last found it; 0 never */
    uint16_t lid;        /* base LID given out, 0 none */
    uint8_t lmc;         /* with which it was given out */
    uint8_t mtu_limit;   /* 0 none */
    uint8_t pkeys_known; /* bit per block: the port is known to hold what we wanted */
    uint8_t pkeys_dirty; /* bit per block: to be set */
    bool enforce_dirty;  /* the switch port's table is to be set */
    bool sl_map_done;    /* programmed as wanted */
    uint16_t *pkeys;     /* own policy, PORT_PKEYS; null: default table */
    uint8_t *sl_map;     /* own policy, PORT_SLS; null: default map */
    uint8_t *lft;        /* switches: as programmed, lft_size entries; null: unknown */
    uint8_t *lft_wanted; /* lft_size entries */
    uint32_t lft_size;
    uint16_t lft_top; /* as programmed */
};

/* ---- datagrams */
enum sm_op {
    SM_OP_NODE,         /* Get(NodeInfo) of whoever is behind `port`, SM_NONE: of ourselves */
    SM_OP_SWITCH,       /* Get(SwitchInfo) */
    SM_OP_PORT,         /* Get(PortInfo) */
    SM_OP_PKEYS,        /* Get(P_KeyTable), block arg */
    SM_OP_SM_INFO,      /* Get(SMInfo) while discovering */
    SM_OP_CLEAR_CHANGE, /* Set(SwitchInfo): PortStateChange read and cleared */
    SM_OP_SET_LID,      /* Set(PortInfo): addresses, MTU, re-registration; state unchanged */
    SM_OP_SET_PKEYS,    /* block arg */
    SM_OP_SET_ENFORCED, /* P_KeyTable of a switch port: what its neighbour has */
    SM_OP_SET_SL_MAP,
    SM_OP_SET_TOP,  /* Set(SwitchInfo): LinearFDBTop */
    SM_OP_SET_LFT,  /* block arg */
    SM_OP_SET_MFT,  /* block arg & 0xff, position arg >> 8 */
    SM_OP_SET_LINK, /* Set(PortInfo): MTU, VLs, enforcement; state unchanged */
    SM_OP_SET_ARMED,
    SM_OP_SET_ACTIVE,
    SM_OP_POLL_SWITCH, /* Get(SwitchInfo) of a light sweep */
    SM_OP_POLL_PORT,   /* Get(PortInfo) of a light sweep */
    SM_OP_POLL_SM,     /* Get(SMInfo): standby to master, master to the others */
    SM_OP_CONTROL,     /* Set(SMInfo), arg enum mad_sm_control */
};

struct sm_request {
    uint32_t port; /* index in the view */
    uint16_t arg;
    uint8_t op;
};

struct sm_slot {
    struct sm_request request;
    uint64_t tid; /* 0: free */
    uint64_t deadline;
    uint8_t tries;
    bool arrived; /* the answer is here and waits for the manager's delay */
};

struct sm_held { /* received, waits for the manager's delay */
    struct sm_held *next;
    struct sm *sm;
    struct mad mad;
    uint16_t slid;
    sim_event event;
};

enum sm_phase {
    SM_PHASE_IDLE,
    SM_PHASE_DISCOVER,
    SM_PHASE_LIDS,
    SM_PHASE_PKEYS,
    SM_PHASE_ROUTES,
    SM_PHASE_LINKS,
    SM_PHASE_ARM,
    SM_PHASE_ACTIVATE,
    SM_PHASE_LIGHT,
    SM_PHASE_POLL,     /* standby: one question to the master */
    SM_PHASE_HANDOVER, /* master: waits for the answer to HANDOVER */
};

struct sm_peer { /* another manager of the subnet, as the last discovery saw it */
    uint32_t port;
    struct mad_sm_info info;
};

struct sm_partition {
    uint16_t pkey, index;
};

struct sm_group {
    union fabric_gid mgid;
    uint64_t *members; /* port GUIDs, ascending */
    size_t member_count;
};

struct sm {
    struct sma *sma;
    struct sim *sim;
    struct net_port *port;
    struct sm_config config;
    enum sm_state state;
    enum sm_phase phase;
    bool first_sweep; /* as master: everyone is asked to register again */
    bool reassign;    /* LIDs that ports have count for nothing */
    bool failed;      /* something of this sweep was not done */
    bool complete;    /* a sweep as master ended and nothing failed */
    bool heavy_wanted, reconfigure_wanted, refuses;
    bool disabled;   /* NOT-ACTIVE by control of a master: it runs, answers and does nothing */
    bool look_again; /* a better manager was still discovering */
    bool sweeping;   /* the phases under way began with a discovery */
    bool pumping;
    uint64_t delay;
    uint32_t sweep_number, act_count;
    uint8_t polls_unanswered;
    sim_event sweep_timer, timeout_timer;

    struct sm_view view;
    struct sm_record *records;
    size_t record_count, record_room;
    struct guid_map by_guid; /* port GUID to record */
    struct sm_partition *partitions;
    size_t partition_count;
    uint8_t sl_map[PORT_SLS]; /* of the subnet */
    bool has_sl_map;
    uint8_t sl_lanes[PORT_SLS]; /* of one SL everywhere; SM_SL_BY_MAP: what the map says */
    uint8_t mtu_limit;          /* of the subnet, 0 none */
    struct sm_group *groups;
    size_t group_count;
    bool groups_dirty;

    struct sm_peer *peers;
    size_t peer_count;
    uint64_t master_guid; /* standby: whom it polls */

    struct sm_request *queue; /* ring of queue_room entries, a power of two */
    size_t queue_head, queue_tail, queue_room;
    struct sm_slot slots[SM_SLOTS];
    size_t outstanding;
    uint64_t next_tid;
    struct sm_held *held;
    struct sm_stats stats;
};

void *sm_grow(void *old, size_t count, size_t size); /* realloc that aborts */

/* sm_view.c */
void sm_view_clear(struct sm_view *view);
uint32_t sm_view_add(struct sm_view *view, const struct mad_node_info *info);
uint32_t sm_view_find(const struct sm_view *view, uint64_t node_guid); /* node or SM_NONE */
void sm_view_link(struct sm_view *view, uint32_t a, uint32_t b);
struct sm_node *sm_node_of(struct sm *sm, uint32_t port);
/* Route to the node of `port`, arriving at that port when it is an HCA's. Hops. */
uint8_t sm_view_route(const struct sm *sm, uint32_t port, uint8_t *path);
uint32_t sm_own_port(const struct sm *sm); /* index in the view; SM_NONE before it was read */
bool sm_has_lid(const struct sm *sm, uint32_t port); /* HCA port or port 0 of a switch */

/* sm_record.c */
struct sm_record *sm_record_get(struct sm *sm, uint64_t guid); /* made when it is new */
struct sm_record *sm_record_find(const struct sm *sm, uint64_t guid);
void sm_records_destroy(struct sm *sm);

/* sm_request.c */
void sm_request(struct sm *sm, enum sm_op op, uint32_t port, uint16_t arg);
void sm_pump(struct sm *sm); /* sends what may be sent; enters the next phase when all is done */
void sm_receive(void *sm, const struct mad *mad, uint16_t slid);
void sm_requests_drop(struct sm *sm); /* forgets everything under way */

/* sm_sweep.c */
void sm_schedule(struct sm *sm);   /* idle: starts what is wanted or waits for the next sweep */
void sm_phase_next(struct sm *sm); /* all datagrams of the present phase are done */
void sm_reconfigure(struct sm *sm);
void sm_discovery_start(struct sm *sm);
void sm_answered(struct sm *sm, const struct sm_request *request, const struct mad *mad);
void sm_unanswered(struct sm *sm, const struct sm_request *request);

/* sm_discover.c */
void sm_discovered_node(struct sm *sm, const struct sm_request *request, const uint8_t *data);
void sm_discovered_switch(struct sm *sm, uint32_t port, const uint8_t *data);
void sm_discovered_port(struct sm *sm, uint32_t port, const uint8_t *data);
void sm_discovered_pkeys(struct sm *sm, const struct sm_request *request, const uint8_t *data);

/* sm_lid.c */
void sm_lids_assign(struct sm *sm);

/* sm_setup.c: what a Set carries, and which are due in a phase */
void sm_fill(struct sm *sm, const struct sm_request *request, uint8_t *data, uint32_t *modifier);
void sm_queue_lids(struct sm *sm);
void sm_queue_links(struct sm *sm);
void sm_queue_state(struct sm *sm, enum sm_op op);
void sm_was_set(struct sm *sm, const struct sm_request *request, const struct mad *mad);

/* sm_pkey.c */
void sm_queue_pkeys(struct sm *sm);
void sm_queue_sl_maps(struct sm *sm);
void sm_wanted_pkeys(const struct sm *sm, const struct sm_record *record, uint16_t *out);
/* The table of the switch port before it: one block. False when the keys are more than that. */
bool sm_wanted_enforced(const struct sm *sm, const struct sm_record *record, uint16_t *out);
void sm_wanted_sl_map(struct sm *sm, uint32_t port, uint8_t *vls);

/* sm_route.c */
void sm_routes_compute(struct sm *sm);
void sm_queue_routes(struct sm *sm);

/* sm_group.c */
void sm_queue_groups(struct sm *sm);
void sm_group_masks(struct sm *sm, uint32_t node, uint8_t block, uint8_t position, uint16_t *out);
void sm_groups_destroy(struct sm *sm);

/* sm_election.c */
void sm_peer_found(struct sm *sm, uint32_t port, const uint8_t *data);
/* After a discovery: true when this manager goes on as master. */
bool sm_elect(struct sm *sm);
void sm_polled(struct sm *sm, const uint8_t *data); /* SMInfo of another one; null: no answer */
void sm_poll_master(struct sm *sm);
void sm_controlled(struct sm *sm, const struct sm_request *request, bool answered);
void sm_info_request(struct sm *sm, const struct mad *mad, uint16_t slid);
void sm_set_state(struct sm *sm, enum sm_state state);
void sm_rest(struct sm *sm); /* drops all work: NOT-ACTIVE */

#endif
