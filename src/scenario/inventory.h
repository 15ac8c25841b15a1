/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inventory (HA-4.5): which machines there are, how an agent is started on each, and what may
 * be done to them. docs/hardware.md describes the file.
 */
#ifndef SRC_SCENARIO_INVENTORY_H
#define SRC_SCENARIO_INVENTORY_H

#include "src/config/yaml.h"
#include "src/scenario/arena.h"
#include "src/scenario/remote_host.h"
#include "src/scenario/testbed.h"

#define INVENTORY_NODES 30
#define INVENTORY_COMMANDS 8 /* of one word */

struct inventory_device {
    const char *name;    /* as the machine calls it */
    const char *netdev;  /* its Ethernet interface; null: none */
    const char *far_end; /* interface at the other end of its cable, on the same machine; null */
    const char *switch_guid; /* of the InfiniBand switch that it is cabled to; null */
    uint64_t switch_port;
};

struct inventory_node {
    const char *name;
    const char *address;      /* IP of its control streams */
    const char *const *agent; /* words that start an agent there; ends in null */
    struct inventory_device *devices;
    size_t device_count;
};

/* What carries out a word; words of a command hold {places}. */
struct inventory_actuator {
    bool on_runner; /* not on the node, but where the runner is */
    const char *const *commands[INVENTORY_COMMANDS + 1]; /* null ends them */
    const char *const *undo[INVENTORY_COMMANDS + 1];     /* in the order in which they are run */
};

struct inventory {
    struct arena arena;
    bool exclusive;
    bool allowed[TESTBED_WORD_COUNT];
    bool ip, ibportstate; /* the built-in sets of actuators */
    /* Words that begin a fault word for a simulated fabric; null where the fabric is none. */
    const char *const *simfabric;
    const char *state; /* folder of journals and the lock */
    uint64_t slack;    /* ns that answers may be later than where time is virtual */
    struct inventory_node *nodes;
    size_t node_count;
    struct inventory_actuator *own[TESTBED_WORD_COUNT]; /* null: the built-in one */
    /* The InfiniBand fabric: managers that may be master, by GUID; node descriptions that may be
     * there. Null where the file does not say. */
    const char *const *managers, *const *hosts;
};

/* Reads an inventory; null after complaints. `label` names the file. The caller frees it. */
struct inventory *inventory_read(const char *label, const char *text, size_t length,
                                 struct yaml_errors *errors);
void inventory_free(struct inventory *inventory); /* null is fine */

#endif
