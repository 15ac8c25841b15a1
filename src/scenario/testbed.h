/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The testbed: what a runner does to a world (HA-0.1). fabric.h is what one node sees; this is the
 * other side of it. Every fabric carries both.
 */
#ifndef SRC_SCENARIO_TESTBED_H
#define SRC_SCENARIO_TESTBED_H

#include "src/fabric/program.h"
#include "src/scenario/remote_host.h"
#include "src/scenario/topology.h"

/* The fault words of the scenario language (HA-4.3): X(WORD, word, capability it needs). What each
 * reads from struct testbed_fault stands behind it. */
#define TESTBED_WORDS(X)                                                                           \
    X(PORT_DOWN, port_down, PORT_STATE)         /* node, device, port */                           \
    X(PORT_UP, port_up, PORT_STATE)             /* node, device, port */                           \
    X(CABLE_PULL, cable_pull, PORT_STATE)       /* node, device, port */                           \
    X(CABLE_PLUG, cable_plug, PORT_STATE)       /* node, device, port */                           \
    X(SM_START, sm_start, SM)                   /* sm */                                           \
    X(SM_STOP, sm_stop, SM)                     /* sm */                                           \
    X(SM_RESTART, sm_restart, SM)               /* sm */                                           \
    X(SM_HANDOVER, sm_handover, SM)             /* sm: becomes master */                           \
    X(SM_SLOW, sm_slow, SM)                     /* sm, duration */                                 \
    X(SM_REFUSE, sm_refuse, SM)                 /* sm, on */                                       \
    X(LID_SET, lid_set, LID)                    /* node, device, port, value */                    \
    X(LID_SWAP, lid_swap, LID)                  /* node, device, port; with peer */                \
    X(LMC_SET, lmc_set, LID)                    /* network, value */                               \
    X(PKEY_SET, pkey_set, PKEY)                 /* node, device, port, index, value */             \
    X(PKEY_REMOVE, pkey_remove, PKEY)           /* node, device, port, value (low 15 bits) */      \
    X(PKEY_MOVE, pkey_move, PKEY)               /* node, device, port, value, index */             \
    X(PKEY_LIMITED, pkey_limited, PKEY)         /* node, device, port, value, on */                \
    X(GID_ADD, gid_add, GID)                    /* node, device, port, index, gid, gid_type */     \
    X(GID_REMOVE, gid_remove, GID)              /* node, device, port, index */                    \
    X(GID_MOVE, gid_move, GID)                  /* node, device, port, index, value: new index */  \
    X(MTU_SET, mtu_set, MTU_CHANGE)             /* node, device, port, value: bytes */             \
    X(LINK_MTU, link_mtu, MTU_CHANGE)           /* node, device, port (its cable), value: bytes */ \
    X(GRH_REQUIRED, grh_required, GRH_REQUIRED) /* node, device, port, on */                       \
    X(PREFIX_SET, prefix_set, SUBNET)           /* network, value */                               \
    X(SL_MAP, sl_map, SL)                       /* network, index: SL, value: VL */                \
    X(LOSS, loss, LOSS)                         /* node, device, port, value: parts per million */ \
    X(CUT, cut, LOSS)                           /* node, device, port, on: one way, outgoing */    \
    X(DELAY, delay, DELAY)                      /* node, device, port, duration, jitter */         \
    X(REORDER, reorder, REORDER)                /* node, device, port, value: parts per million */ \
    X(DUPLICATE, duplicate, REORDER)            /* node, device, port, value: parts per million */ \
    X(EVENT_HOLD, event_hold, EVENTS_HOLD)      /* node, device, text: type or "all", on */        \
    X(EVENT_LOSE, event_lose, EVENTS_HOLD)      /* node, device, text, value: how many */          \
    X(EVENT_DUPLICATE, event_duplicate, EVENTS_HOLD) /* node, device, text, value: how many */     \
    X(EVENT_ORDER, event_order, EVENTS_HOLD) /* node, device, text: types in order, by comma */    \
    X(VERB_FAILS, verb_fails, VERB_FAULT)    /* node, text: operation, index: nth, value: repeat,  \
                                                error */                                           \
    X(COMPLETION_FAILS, completion_fails, VERB_FAULT) /* node, text: status, index, value */       \
    X(DEVICE_REMOVE, device_remove, DEVICE_REMOVE)    /* node, device */                           \
    X(DEVICE_RETURN, device_return, DEVICE_REMOVE)    /* node, device */                           \
    X(DC_KEY_CHANGE, dc_key_change, DC)               /* node, device */                           \
    X(PROCESS_KILL, process_kill, PROCESS_KILL)       /* node */                                   \
    X(PROCESS_FREEZE, process_freeze, PROCESS_KILL)   /* node, on */                               \
    X(PROCESS_RESTART, process_restart, PROCESS_KILL) /* node */                                   \
    X(POWER_LOSS, power_loss, POWER_LOSS)             /* node */                                   \
    X(POWER_RETURN, power_return, POWER_LOSS)         /* node; process_restart starts its program  \
                                                       */                                          \
    X(DISK_ERROR, disk_error, DISK_FAULT)             /* node, on */                               \
    X(DISK_FULL, disk_full, DISK_FAULT)               /* node, on */                               \
    X(DISK_SLOW, disk_slow, DISK_FAULT)               /* node, duration */                         \
    X(TCP_BLOCK, tcp_block, TCP)                      /* node, peer (null: all), on */             \
    X(TCP_SLOW, tcp_slow, TCP) /* node, peer, value: bytes a second, duration */                   \
    X(TCP_CUT, tcp_cut, TCP)   /* node, peer: established streams are reset */

enum testbed_word {
#define TESTBED_WORD(upper, lower, cap) TESTBED_##upper,
    TESTBED_WORDS(TESTBED_WORD)
#undef TESTBED_WORD
        TESTBED_WORD_COUNT
};

/* Facts that can be asked about a node, and about a port; upper case, lower case, what follows. */
#define TESTBED_NODE_FACTS(X)                                                                      \
    X(ADDRESS, address, "")                                                                        \
    X(RUNNING, running, "")                                                                        \
    X(HTTP, http, " PATH")
#define TESTBED_PORT_FACTS(X)                                                                      \
    X(LID, lid, "")                                                                                \
    X(LMC, lmc, "")                                                                                \
    X(SM_LID, sm_lid, "")                                                                          \
    X(STATE, state, "")                                                                            \
    X(MTU, mtu, "")                                                                                \
    X(PREFIX, prefix, "")                                                                          \
    X(GUID, guid, "")                                                                              \
    X(RATE, rate, "")                                                                              \
    X(LINK_LAYER, link_layer, "")                                                                  \
    X(GRH_REQUIRED, grh_required, "")                                                              \
    X(BAD_PKEY, bad_pkey, "")                                                                      \
    X(PKEY, pkey, " INDEX")                                                                        \
    X(GID, gid, " INDEX")

enum testbed_fact {
#define TESTBED_FACT(upper, lower, follows) TESTBED_FACT_##upper,
    TESTBED_NODE_FACTS(TESTBED_FACT) TESTBED_PORT_FACTS(TESTBED_FACT)
#undef TESTBED_FACT
        TESTBED_FACT_COUNT
};

/* "address, running, http PATH," and "lid, lmc, ... gid INDEX,", for people. */
#define TESTBED_FACT_TEXT(upper, lower, follows) " " #lower follows ","
#define TESTBED_NODE_FACTS_TEXT TESTBED_NODE_FACTS(TESTBED_FACT_TEXT)
#define TESTBED_PORT_FACTS_TEXT TESTBED_PORT_FACTS(TESTBED_FACT_TEXT)

struct testbed_fault {
    enum testbed_word word;
    const char *node, *device; /* device null: the node's first */
    const char *peer;          /* another node */
    const char *sm, *network, *text;
    uint8_t port; /* 0: the first */
    bool on;
    uint32_t index;
    uint64_t value;
    uint64_t duration, jitter; /* ns */
    enum fabric_error error;
    union fabric_gid gid;
    enum fabric_gid_type gid_type;
};

enum testbed_result {
    TESTBED_DONE,
    TESTBED_LACKS, /* the fabric has no such capability; *detail names it */
    TESTBED_WRONG, /* the call names something that is not there; *detail says what */
    /* It was tried; *detail says what happened. What it was about is in an unknown state until
     * undo. */
    TESTBED_FAILED,
};

enum testbed_event_type {
    TESTBED_EVENT_REPORT,   /* text: the program's line of JSON */
    TESTBED_EVENT_LOG,      /* text: one log line; level */
    TESTBED_EVENT_EXITED,   /* the program could not start or ended; error, status */
    TESTBED_EVENT_DEADLINE, /* nothing more happened until then */
    TESTBED_EVENT_IDLE,     /* nothing can ever happen any more; only with VIRTUAL_TIME */
    TESTBED_EVENT_HUNG,     /* the world does not get on, `text` says how; only with VIRTUAL_TIME */
    TESTBED_EVENT_STOPPED,  /* options.interrupted said so */
};

struct testbed_event {
    enum testbed_event_type type;
    /* ns since the world began, as this testbed saw it. Where nodes run on several hosts an event
     * has the time of its arrival: times of one node do not decrease, the order across nodes is
     * only as good as the network between them. */
    uint64_t time;
    const char *node;
    const char *text; /* valid until the next call on the testbed */
    enum fabric_log_level level;
    enum fabric_error error;
    int status; /* EXITED: exit code of the process, 128 + signal; 0 where it is none */
};

#define TESTBED_DETAIL 256

struct testbed_options {
    uint64_t seed;
    fabric_caps caps; /* masks what the fabric can do; FABRIC_CAPS_ALL: everything */
    /* For fabrics of real machines: where the nodes of the topology are, a file; null: none. */
    const char *inventory;
    const struct remote_host *host; /* what such a fabric needs of the machine; null: none */
    bool plan; /* tells as log events what would be done to the machines, and does nothing */
    /* Asked again and again while `next` waits; true ends the wait. Null: never. */
    bool (*interrupted)(void *context);
    void *interrupt_context;
    /* Where `create` says true when the topology is none of its reasons: something broke. Null:
     * nobody asks. */
    bool *broke;
};

struct testbed;

/* What a runner does to a world. The names of nodes, devices, networks and managers are those of
 * the topology; where the world consists of machines, the agent's fabric on each translates them.
 * A testbed whose programs run elsewhere uses the name of a program only, never its functions. */
struct testbed_ops {
    const char *name; /* "sim" */
    /* open: once before the first `create` of a run: whether the inventory may be used now. False
     * and a sentence in `detail` (TESTBED_DETAIL bytes), after which nothing may be created. What
     * keeps other runs out lasts until the host is destroyed. Null: nothing to ask. */
    bool (*open)(const struct testbed_options *options, char *detail);
    /* create: a world from `topology`, ready at its time 0 with nothing started. Null and a
     * sentence in `detail` (TESTBED_DETAIL bytes) when the topology or an option asks for what this
     * fabric cannot be. Topology and options may be freed afterwards. */
    struct testbed *(*create)(const struct topology *topology,
                              const struct testbed_options *options, char *detail);
    /* destroy: undoes first; what cannot be taken back is logged where the operator sees it. */
    void (*destroy)(struct testbed *tb);
    fabric_caps (*caps)(const struct testbed *tb);
    uint64_t (*now)(const struct testbed *tb);
    /* slack: ns by which answers may be later than bounds say, where time is real. Null: none. */
    uint64_t (*slack)(const struct testbed *tb);
    /* trace: every trace line from now on goes to `sink`; hash and draws for HA-2.4. */
    void (*trace)(struct testbed *tb, void (*sink)(void *context, const char *line, size_t length),
                  void *context);
    uint64_t (*trace_hash)(const struct testbed *tb);
    uint64_t (*draws)(const struct testbed *tb);
    /* place_file: `data` is at `path` on the node's storage, durable. */
    enum testbed_result (*place_file)(struct testbed *tb, const char *node, const char *path,
                                      const void *data, size_t length, char *detail);
    /* node_start: runs `program` on `node` with its configuration text; a failure of its start
     * comes as EXITED. A remote testbed reads program->name alone. */
    enum testbed_result (*node_start)(struct testbed *tb, const char *node,
                                      const struct fabric_program *program, const char *config,
                                      char *detail);
    /* node_stop: lets the program end in order. */
    enum testbed_result (*node_stop)(struct testbed *tb, const char *node, char *detail);
    /* tell: hands a command to the node's program; its answer is a REPORT. */
    enum testbed_result (*tell)(struct testbed *tb, const char *node, const char *json,
                                char *detail);
    /* ask: a fact about the node that needs no program, one of TESTBED_NODE_FACTS, or of
     * TESTBED_PORT_FACTS after the name of a port ("mlx5_0/1 pkey 1"; without "/1" the first); the
     * answer as text in `answer` (TESTBED_DETAIL bytes). "http /v1/health" asks the node's HTTP
     * end point: the answer is the status, "refused" where nobody listens, or "waits"; what the
     * end point says follows as a REPORT {"event":"http","status":...,"path":...,"body":...}. */
    enum testbed_result (*ask)(struct testbed *tb, const char *node, const char *query,
                               char *answer);
    enum testbed_result (*apply)(struct testbed *tb, const struct testbed_fault *fault,
                                 char *detail);
    /* undo: every fault still in force is taken back, also those that FAILED. FAILED and a sentence
     * when something could not be: the rest was taken back all the same. */
    enum testbed_result (*undo)(struct testbed *tb, char *detail);
    /* next: lets the world go on until something is to be told or `deadline` (ns) has passed. */
    void (*next)(struct testbed *tb, uint64_t deadline, struct testbed_event *out);
};

#endif
