/* SPDX-License-Identifier: Apache-2.0 */
/* What sma*.c share; nobody else includes it. */
#ifndef FABRIC_SIM_WORLD_SMA_STATE_H
#define FABRIC_SIM_WORLD_SMA_STATE_H

#include "fabric_sim/world/sma.h"

#define SMA_MFT_SIZE 1024       /* multicast LIDs per switch */
#define SMA_SWITCH_PKEYS 32     /* PartitionEnforcementCap of switches */
#define SMA_ANSWER_LATENCY 5000 /* ns */

struct sma_port { /* what subnet management keeps of a port beyond struct port_info */
    sma_manager manager;
    void *manager_context;
    uint64_t m_key;
    uint16_t m_key_violations;
    uint8_t m_key_protect;
    uint8_t vl_high_limit;
    uint16_t m_key_lease; /* s, 0: it never ends */
    sim_event lease;      /* after a violation: when the protection ends */
};

struct sma_agent { /* one node */
    struct sma *sma;
    struct net_node *node;
    struct sma_port *ports; /* 0..net_node_ports */
    uint16_t linear_fdb_top, multicast_fdb_top;
    uint8_t life_time;
    bool port_state_change;
    bool has_sl_pairs; /* an SL map was set for one pair of ports */
    bool applying;     /* a Set is being carried out: its state changes are no news (14.2.5.4) */
};

struct sma_trap { /* sent and not repressed yet */
    struct sma_trap *next;
    struct sma *sma;
    struct net_port *port;
    struct mad_notice notice;
    uint64_t tid;
    sim_event timer;
    bool again; /* happened once more meanwhile */
};

struct sma_job { /* a request that its agent is working on */
    struct net_port *port;
    struct mad *mad;
    uint16_t slid;
    uint32_t next_free;
};

struct sma {
    struct net *net;
    struct sim *sim;
    struct sma_agent **agents; /* by net_node_index */
    size_t agent_count;
    struct sma_trap *traps; /* oldest first */
    struct sma_job *jobs;
    uint32_t job_count, free_job;
    uint64_t answer_latency;
    uint64_t next_tid; /* of traps */
    struct sma_stats stats;
};

struct sma_agent *sma_agent_of(struct sma *sma, const struct net_port *port);
struct sma_port *sma_port_of(struct sma *sma, const struct net_port *port);
/* The port whose LID stands for `port`: itself, or port 0 of a switch. */
struct net_port *sma_lid_port(const struct net_port *port);

/* Carries out a Get or Set that came in by `port` and leaves the answer in its data; the status. */
uint16_t sma_get(struct sma *sma, struct net_port *port, struct mad *mad);
uint16_t sma_set(struct sma *sma, struct net_port *port, struct mad *mad);
uint16_t sma_set_port_info(struct sma *sma, struct net_port *port, const uint8_t *data);
bool sma_mkey_allows(struct sma *sma, struct net_port *port, const struct mad *mad, uint16_t slid);

void sma_trap_raise(struct sma *sma, struct net_port *port, const struct mad_notice *notice);
void sma_trap_repress(struct sma *sma, struct net_port *port, const struct mad *mad);
void sma_link_changed(void *agent, struct net_port *port, const struct port_info *before);
void sma_traps_destroy(struct sma *sma);
/* Forgets what was set at the node, and traps that are not repressed. */
void sma_power_lost(void *sma, struct net_node *node);
uint32_t sma_capability_mask(const struct net_port *port); /* CapabilityMask of PortInfo */

#endif
