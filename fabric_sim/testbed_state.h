/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the testbed share. */
#ifndef FABRIC_SIM_TESTBED_STATE_H
#define FABRIC_SIM_TESTBED_STATE_H

#include <assert.h>

#include "fabric_sim/testbed.h"
#include "fabric_sim/world/sm.h"
#include "src/fabric/layer_fault.h"

struct tb_network {
    char name[FABRIC_NAME_MAX];
    bool ethernet;
    struct net_node **switches;
    size_t switch_count;
    uint64_t prefix;
    uint8_t lmc;
};

struct tb_sm {
    char name[FABRIC_NAME_MAX];
    struct tb_network *network;
    struct sm *sm;
    uint64_t delay;
    uint8_t priority; /* of the topology */
    bool started;
};

/* A port of a node, and what faults have done to it. */
struct tb_port {
    struct tb_node *node;
    struct sim_device *device;
    uint8_t port_num;
    struct tb_network *network; /* null: nothing plugged in */
    bool down, pulled, cut;
    uint32_t loss, reorder, duplicate;
    uint64_t delay, jitter;
    enum fabric_mtu active_mtu, link_mtu; /* 0: as it came */
    struct port_gid *lost_gids;           /* of a RoCE port that is down: PORT_GIDS of them */
};

struct tb_command {
    struct tb_command *next;
    char json[];
};

struct tb_node {
    struct testbed *tb;
    char name[FABRIC_NAME_MAX];
    struct sim_host *host;
    struct tb_port *ports; /* of all devices, in order */
    size_t port_count;
    const struct fabric_program *program; /* the latest one started; null: none yet */
    char *config;
    size_t config_length;
    void *state;           /* of the running program */
    struct fabric *fabric; /* what it sees; null: nothing runs */
    struct fabric *base, *faults;
    struct fabric_report_sink sink;
    struct layer_fault_rule rules[LAYER_FAULT_RULES];
    size_t rule_count;
    bool off, frozen, waits, mute;
    struct tb_port *control; /* whose interface has the node's address; null: none of them */
    bool control_up;
    unsigned join_tries;
    sim_event joining;           /* its broadcast group */
    struct tb_command *commands; /* told while frozen */
};

struct tb_event { /* waits to be told */
    struct tb_event *next;
    struct testbed_event event;
    char text[];
};

/* `value` of a word that is taken back by what the topology says, not by an opposite. */
#define TB_AS_IT_CAME UINT64_MAX

enum tb_undo_kind { UNDO_FAULT, UNDO_PKEYS, UNDO_GIDS };

struct tb_undo {
    struct tb_undo *next; /* older */
    enum tb_undo_kind kind;
    struct testbed_fault fault; /* its strings belong to the testbed */
    struct tb_port *port;
    uint16_t pkeys[PORT_PKEYS];
    struct port_gid gids[PORT_GIDS];
    uint32_t gids_touched; /* a bit per entry */
    uint64_t prefix;       /* of the port, when `gids` was taken */
};

/* No world has so much to do in one instant: something goes round in a circle. */
#define TB_INSTANT 1000000u
#define TB_ASKED 1024u /* events between two questions whether to go on */

struct testbed {
    struct sim_world *world;
    struct sim *sim;
    fabric_caps caps;
    struct tb_network *networks;
    size_t network_count;
    struct tb_sm *sms;
    size_t sm_count;
    struct tb_node *nodes;
    size_t node_count;
    struct tb_event *events, **events_end, *told;
    bool (*interrupted)(void *context);
    void *interrupt_context;
    uint64_t instant; /* ns: the time that does not pass, and */
    uint64_t steps;   /* events so far at it */
    uint64_t turns;   /* of `next` */
    char hung[TESTBED_DETAIL];
    struct tb_undo *undos; /* latest first */
    void (*sink)(void *context, const char *line, size_t length);
    void *sink_context;
};

/* ---- testbed_world.c: false and a sentence in `detail` when the topology cannot be. */
bool tb_build(struct testbed *tb, const struct topology *topology, char *detail);

/* ---- testbed_find.c: null and a sentence in `detail` when there is none. */
void tb_say(char *detail, const char *format, ...) __attribute__((format(printf, 2, 3)));
struct tb_node *tb_node(struct testbed *tb, const char *name, char *detail);
struct tb_network *tb_network(struct testbed *tb, const char *name, char *detail);
struct tb_sm *tb_sm(struct testbed *tb, const char *name, char *detail);
struct sim_device *tb_device(struct tb_node *node, const char *name, char *detail);
struct tb_port *tb_port(struct tb_node *node, const char *device, uint8_t port_num, char *detail);
struct net_port *tb_net_port(const struct tb_port *port);
uint64_t tb_port_guid(const struct tb_port *port);
/* The managing or, when there is none, the first subnet manager of a network. */
struct tb_sm *tb_master(struct testbed *tb, const struct tb_network *network);

/* ---- testbed_program.c */
void tb_tell(struct testbed *tb, enum testbed_event_type type, struct tb_node *node,
             const char *text, enum fabric_log_level level, enum fabric_error error);
enum testbed_result tb_start(struct tb_node *node, const struct fabric_program *program,
                             const char *config, char *detail);
enum testbed_result tb_stop(struct tb_node *node, char *detail);
enum testbed_result tb_command(struct tb_node *node, const char *json, char *detail);
void tb_kill(struct tb_node *node);
void tb_freeze(struct tb_node *node, bool on);
bool tb_restart(struct tb_node *node, char *detail);
void tb_release(struct tb_node *node); /* ends what runs without a word */
/* Counts one more event of a node (null: of the world); false when there are too many of them in
 * one instant: then testbed.hung says so. */
bool tb_count(struct testbed *tb, const struct tb_node *node);
void tb_put_rules(struct tb_node *node);
void tb_look(struct tb_node *node); /* the program looks at its events now, unless it is frozen */

/* ---- testbed_control.c: the node's address lives on the interface `netdev`; false and a sentence
 * when it cannot. Then, once the managers are there, the streams follow those ports. */
bool tb_control_on(struct tb_node *node, const char *netdev, char *detail);
void tb_control_begin(struct testbed *tb);

/* ---- testbed_fault.c, testbed_undo.c, testbed_ask.c, testbed_http.c */
enum testbed_result tb_apply(struct testbed *tb, const struct testbed_fault *fault, char *detail);
void tb_undo_all(struct testbed *tb);
void tb_port_show_link(struct tb_port *port); /* up unless it is down or pulled */
bool tb_ask(struct tb_node *node, const char *query, char *answer);
/* The status of GET `path` at the node's end point, "refused" without one, "waits" when the
 * program does not answer at once; the answer itself is a report of the node. */
bool tb_http(struct tb_node *node, const char *path, char *answer);

/* What a word is about, found by its names. */
struct tb_target {
    struct testbed *tb;
    struct tb_node *node, *peer;
    struct sim_device *device;
    struct tb_port *port, *peer_port;
    struct tb_network *network;
    struct tb_sm *sm;
    struct testbed_fault inverse; /* word TESTBED_WORD_COUNT: nothing to take back */
};

/* Each carries out one word; false and a sentence when the world refuses. */
typedef bool (*tb_act)(struct tb_target *target, const struct testbed_fault *fault, char *detail);
tb_act tb_fabric_act(enum testbed_word word);  /* testbed_fabric.c: ports, tables, managers */
tb_act tb_machine_act(enum testbed_word word); /* testbed_machine.c: nodes, disks, streams */
void tb_undo_later(struct testbed *tb, const struct tb_undo *undo);

#endif
