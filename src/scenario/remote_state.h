/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the testbed over machines share.
 */
#ifndef SRC_SCENARIO_REMOTE_STATE_H
#define SRC_SCENARIO_REMOTE_STATE_H

#include <jansson.h>

#include "src/scenario/actuator.h"
#include "src/scenario/inventory.h"
#include "src/scenario/remote.h"
#include "src/scenario/text.h"
#include "src/scenario/undo.h"

#define REMOTE_GIDS 16
#define REMOTE_ANSWER UINT64_C(60000000000)  /* ns that an agent has to answer */
#define REMOTE_PARTING UINT64_C(60000000000) /* ns that it has to take everything back and end */

struct remote_gid {
    uint32_t index; /* as the scenario counts */
    union fabric_gid gid;
    bool there;
};

struct remote_device {
    const char *name; /* in the topology */
    const struct inventory_device *is;
    struct actuator_cable cable;
    struct remote_gid gids[REMOTE_GIDS];
    size_t gid_count;
};

struct remote_node {
    const char *name, *address; /* in the topology; the address may be null */
    const struct inventory_node *at;
    struct remote_device *devices;
    size_t device_count;
    int agent;        /* child of the host; 0: none */
    bool greeted;     /* it said hello */
    bool running;     /* a program was started and its end was not told */
    fabric_caps caps; /* that it said */
};

struct remote_told {
    struct remote_told *next;
    struct testbed_event event;
    char text[];
};

struct testbed {
    const char *fabric;
    const struct remote_host *host;
    struct inventory *inventory;
    struct arena arena;
    struct remote_node *nodes;
    size_t node_count;
    fabric_caps caps;
    int simulated;     /* child that runs the fabric of this testbed; 0: none, or it ended */
    bool simulated_up; /* it takes programs */
    bool plan;
    bool broke; /* what kept it from being made is not the topology */
    uint64_t begin;
    struct undo undo; /* of commands that ran where the runner is */
    struct remote_told *events, **events_end, *told;
    uint64_t asked; /* id of the latest request */
    bool answered, answer_ok;
    char *answer; /* whole; null: none yet */
    bool (*interrupted)(void *context);
    void *interrupt_context;
};

/* remote.c */
/* A testbed without nodes; takes the inventory. remote_leave frees it. */
struct testbed *remote_blank(const char *fabric, struct inventory *inventory,
                             const struct testbed_options *options);
struct inventory *remote_inventory(const struct testbed_options *options, char *detail);
/* Where how to take back is that was done where the runner is. */
void remote_journal(const struct inventory *inventory, char path[UNDO_PATH]);
void remote_tell(struct testbed *tb, enum testbed_event_type type, const char *node,
                 const char *text, enum fabric_log_level level, enum fabric_error error,
                 int status);
struct remote_node *remote_node(struct testbed *tb, const char *name, char *detail);
/* A request without an answer; false when the agent is gone. Takes `message`. */
bool remote_send(struct testbed *tb, struct remote_node *node, json_t *message);
/* A request and its answer, in `detail`; other events are kept. Takes `message`. */
enum testbed_result remote_ask(struct testbed *tb, struct remote_node *node, json_t *message,
                               char *detail);
/* Lets the machines get on until `deadline` (ns of the host) or something came. */
void remote_pump(struct testbed *tb, uint64_t deadline);

/* Lets the agents end, which take back what is left, and frees everything. */
void remote_leave(struct testbed *tb);

/* remote_fit.c: which machine is which node. False and a sentence when they cannot be it. */
bool remote_fit(struct testbed *tb, const struct topology *topology, char *detail);
/* Starts the agents and makes ports what the topology says. */
bool remote_begin(struct testbed *tb, char *detail);
bool remote_start_agent(struct testbed *tb, struct remote_node *node, char *detail);
/* What an agent or the fabric said last: why there is none. */
const char *remote_last_words(const struct testbed *tb);
bool remote_set_up(struct testbed *tb, const struct topology *topology, char *detail);

/* emulated.c: a fabric of the topology, with agents on its nodes. As `create` of testbed_ops. */
struct testbed *emulated_create(const struct topology *topology,
                                const struct testbed_options *options, char *detail);

/* remote_fault.c */
enum testbed_result remote_apply(struct testbed *tb, const struct testbed_fault *fault,
                                 char *detail);
enum testbed_result remote_take_back(struct testbed *tb, char *detail);

/* remote_safety.c: whether nobody is on the InfiniBand fabric whom the inventory does not know. */
bool remote_known(const struct testbed_options *options, const struct inventory *inventory,
                  char *detail);
/* Takes back what is in the journals of every machine of the inventory, and says what. */
bool remote_undo_all(const struct testbed_options *options, char *detail);

#endif
