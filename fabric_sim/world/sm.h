/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The subnet manager: an actor at one port of a subnet that discovers it, gives out LIDs, routes,
 * partitions and service-level maps and takes the ports to ACTIVE, all by management datagrams
 * with their latency (vol. 1, chapter 14.4). Several managers of one subnet find one another and
 * agree on a master by priority, then by the lower GUID.
 *
 * Everything asked for here is done by later datagrams: wait for sm_subnet_up. Meanwhile the
 * half-configured fabric is visible. What is asked of a manager that is not running or not master
 * is remembered and done when it is.
 */
#ifndef FABRIC_SIM_WORLD_SM_H
#define FABRIC_SIM_WORLD_SM_H

#include "fabric_sim/world/sma.h"

struct sm;

enum sm_state { /* SMState of SMInfo */
                SM_NOT_ACTIVE = 0,
                SM_DISCOVERING = 1,
                SM_STANDBY = 2,
                SM_MASTER = 3,
};

#define SM_DEFAULT_PREFIX 0xFE80000000000000ull
#define SM_DEFAULT_PKEY 0x7FFF /* without the membership bit */
#define SM_INDEX_ANY 0xFFFF

/* Members left zero take the default in parentheses. */
struct sm_config {
    uint8_t priority;         /* 0..15 (0) */
    uint8_t lmc;              /* 0..7, of HCA ports (0) */
    uint16_t first_lid;       /* LIDs are given out from here on (1) */
    uint64_t subnet_prefix;   /* (SM_DEFAULT_PREFIX) */
    uint64_t m_key;           /* set on every port (0: none) */
    uint8_t m_key_protect;    /* M_KeyProtectBits that go with it (0) */
    uint16_t m_key_lease;     /* s after a violation until the protection ends (0: never) */
    uint8_t subnet_timeout;   /* 4.096 us * 2^n, paces repeated traps (18) */
    bool default_limited;     /* members of the default partition are limited: 0x7FFF */
    bool enforce_partitions;  /* switch ports towards HCAs check P_Keys too */
    uint8_t max_oper_vls;     /* data VLs in use, at most (as many as both ends can) */
    uint16_t max_outstanding; /* datagrams under way at once, at most 64 (4) */
    uint8_t retries;          /* of one datagram (3) */
    uint64_t smp_timeout;     /* ns (200 ms) */
    uint64_t sweep_interval;  /* ns between light sweeps (10 s); UINT64_MAX: none */
    uint64_t poll_interval;   /* ns between a standby's questions to the master (1 s) */
    uint8_t poll_retries;     /* silent ones after which the master counts as dead (4) */
};

/* A manager at `port` of an HCA, not running yet. The port may be an HCA's own or belong to a node
 * of the manager's. `config` null: defaults. Aborts when memory is out. */
struct sm *sm_create(struct sma *sma, struct net_port *port, const struct sm_config *config);
void sm_destroy(struct sm *sm);

/* ---- life */
void sm_start(struct sm *sm); /* DISCOVERING; nothing when it runs */
void sm_stop(struct sm *sm);  /* dies silently, as by kill -9 */
/* Stop and start. With keep_lids it remembers which GUID had which LID; policy is always kept. */
void sm_restart(struct sm *sm, bool keep_lids);
/* The master gives the subnet to `to`, a running manager of the same subnet; the two exchange
 * priorities when it could not stay there otherwise. False: no master, or `to` is no standby. */
bool sm_handover(struct sm *from, struct sm *to);
void sm_set_priority(struct sm *sm, uint8_t priority);
void sm_set_delay(struct sm *sm, uint64_t delay); /* ns before it acts on anything it receives */
/* Out of resources: services asked of it are refused (fronts ask sm_refuses). */
void sm_refuse(struct sm *sm, bool refuse);
bool sm_refuses(const struct sm *sm);
void sm_sweep(struct sm *sm); /* a heavy sweep, now or after the present one */

/* ---- what it does */
enum sm_state sm_state(const struct sm *sm);
/* Master, all that was asked for is done, every reachable port is ACTIVE. */
bool sm_subnet_up(const struct sm *sm);
struct net_port *sm_port(const struct sm *sm);
uint16_t sm_lid_of(const struct sm *sm, uint64_t port_guid); /* base LID given out; 0: none */

/* ---- addresses. Port GUIDs name ports; a switch is named by its node GUID. */
/* False: no usable LID (0x0001..0xBFFF, aligned to 2^lmc). Who had it gets another one. */
bool sm_lid_set(struct sm *sm, uint64_t port_guid, uint16_t lid);
bool sm_lid_swap(struct sm *sm, uint64_t port_guid_a, uint64_t port_guid_b); /* both have LIDs */
bool sm_lmc_set(struct sm *sm, uint8_t lmc); /* false: above 7; LIDs that do not fit change */
void sm_prefix_set(struct sm *sm, uint64_t prefix);

/* ---- partitions. A key's bit 15 is full membership. False: no room, no such key, no such entry.
 */
/* The port's table gets `pkey`; index SM_INDEX_ANY takes the present place of the partition, else
 * the first hole. An index overwrites what is there; pkey 0 makes a hole. */
bool sm_pkey_set(struct sm *sm, uint64_t port_guid, uint16_t pkey, uint16_t index);
bool sm_pkey_remove(struct sm *sm, uint64_t port_guid, uint16_t pkey); /* leaves a hole */
bool sm_pkey_move(struct sm *sm, uint64_t port_guid, uint16_t pkey, uint16_t index);
bool sm_pkey_limited(struct sm *sm, uint64_t port_guid, uint16_t pkey, bool limited);
/* Every port, also one that is discovered later, gets `pkey`, at `index` where it is free there. */
bool sm_partition_add(struct sm *sm, uint16_t pkey, uint16_t index);
/* The table that the port has or will have, PORT_PKEYS entries. */
void sm_pkey_table(const struct sm *sm, uint64_t port_guid, uint16_t *out);

/* ---- service levels: vls[sl] for all SLs; 15 forbids one. GUID 0: every port of the subnet. */
void sm_sl_map_set(struct sm *sm, uint64_t port_guid, const uint8_t *vls);
/* One SL of every map of the subnet, whatever else the maps say; SM_SL_BY_MAP takes that back. */
#define SM_SL_BY_MAP 0xFF
void sm_sl_set(struct sm *sm, uint8_t sl, uint8_t vl);
/* NeighborMTU of the port's link, at most `mtu` (enum fabric_mtu); GUID 0: every link. */
void sm_mtu_set(struct sm *sm, uint64_t port_guid, uint8_t mtu);

/* ---- multicast: groups for UD. */
/* Returns the LID of the group with this multicast GID, always the same; 0: none left. */
uint16_t sm_group_create(struct sm *sm, const union fabric_gid *mgid);
bool sm_group_join(struct sm *sm, uint16_t mlid, uint64_t port_guid); /* false: no such group */
bool sm_group_leave(struct sm *sm, uint16_t mlid, uint64_t port_guid);

struct sm_stats {
    uint64_t heavy_sweeps, light_sweeps, reconfigurations; /* completed */
    uint64_t datagrams_sent, answers, timeouts, unanswered, errors;
    uint64_t traps, pkey_violations, handovers;
    size_t nodes, switches, ports, links; /* of the last sweep */
    size_t bytes_of_memory;
};
void sm_stats(const struct sm *sm, struct sm_stats *out);

#endif
