/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "src/config/nearest.h"
#include "src/scenario/topology_read.h"

const struct topology_node *topology_node_find(const struct topology *topology, const char *name)
{
    assert(topology && name);
    for (size_t i = 0; i < topology->node_count; i++) {
        if (strcmp(topology->nodes[i].name, name) == 0)
            return &topology->nodes[i];
    }
    return NULL;
}

const struct topology_device *topology_device_find(const struct topology_node *node,
                                                   const char *name)
{
    assert(node && name);
    for (size_t i = 0; i < node->device_count; i++) {
        if (strcmp(node->devices[i].name, name) == 0)
            return &node->devices[i];
    }
    return NULL;
}

bool topology_has_network(const struct topology *topology, const char *name)
{
    assert(topology && name);
    for (size_t i = 0; i < topology->subnet_count; i++) {
        if (strcmp(topology->subnets[i].name, name) == 0)
            return true;
    }
    for (size_t i = 0; i < topology->ethernet_count; i++) {
        if (strcmp(topology->ethernets[i].name, name) == 0)
            return true;
    }
    return false;
}

const struct topology_sm *topology_sm_find(const struct topology *topology, const char *name)
{
    assert(topology && name);
    for (size_t i = 0; i < topology->subnet_count; i++) {
        const struct topology_subnet *subnet = &topology->subnets[i];
        for (size_t j = 0; j < subnet->sm_count; j++) {
            if (strcmp(subnet->sms[j].name, name) == 0)
                return &subnet->sms[j];
        }
    }
    return NULL;
}

const char **topology_node_names(const struct topology *topology, struct arena *arena)
{
    assert(topology && arena);
    const char **names = arena_alloc(arena, topology->node_count, sizeof *names);
    for (size_t i = 0; i < topology->node_count; i++)
        names[i] = topology->nodes[i].name;
    return names;
}

void topology_complain_unknown(struct yaml_errors *errors, struct yaml_mark mark, const char *what,
                               const char *found, const char *const *names, size_t count)
{
    assert(errors && what && found);
    const char *near = nearest_name(found, names, count);
    if (near) {
        yaml_complain(errors, mark, "%s: found '%.60s'; did you mean '%s'?", what, found, near);
        return;
    }
    char allowed[256] = "";
    for (size_t i = 0; i < count; i++) {
        size_t used = strlen(allowed);
        snprintf(allowed + used, sizeof allowed - used, "%s%s", i ? ", " : "", names[i]);
    }
    yaml_complain(errors, mark, "%s: found '%.60s'; allowed: %s", what, found,
                  count ? allowed : "nothing, because there is none");
}
