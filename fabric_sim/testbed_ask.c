/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about a node that need no program. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/testbed_state.h"
#include "src/fabric/gid.h"

#define FACTS                                                                                      \
    "address, running, http PATH, or DEVICE/PORT and lid, lmc, sm_lid, state, mtu, prefix, guid, " \
    "rate, "                                                                                       \
    "link_layer, grh_required, bad_pkey, pkey INDEX, gid INDEX"

struct query { /* "mlx5_0/1 pkey 1" */
    char device[FABRIC_NAME_MAX];
    uint8_t port_num;
    char what[32];
    uint32_t index;
    bool has_index;
};

static bool take_word(const char **text, const char *stop, char *out, size_t size)
{
    size_t length = strcspn(*text, stop);
    assert(size > 1);
    if (length == 0 || length >= size)
        return false;
    memcpy(out, *text, length);
    out[length] = '\0';
    *text += length;
    return true;
}

static bool take_number(const char **text, unsigned long most, unsigned long *out)
{
    char *end;
    if (**text < '0' || **text > '9')
        return false;
    *out = strtoul(*text, &end, 10);
    *text = end;
    return *out <= most;
}

static bool parse(const char *text, struct query *query)
{
    unsigned long number = 1;
    *query = (struct query){.port_num = 1};
    if (!take_word(&text, "/ ", query->device, sizeof(query->device)))
        return false;
    if (*text == '/') {
        text++;
        if (!take_number(&text, 255, &number) || number == 0)
            return false;
        query->port_num = (uint8_t)number;
    }
    text += strspn(text, " ");
    if (!take_word(&text, " ", query->what, sizeof(query->what)))
        return false;
    text += strspn(text, " ");
    if (*text == '\0')
        return true;
    query->has_index = take_number(&text, UINT16_MAX, &number);
    query->index = (uint32_t)number;
    return query->has_index && *text == '\0';
}

static bool answer_indexed(const struct port_info *info, const struct query *query, char *answer)
{
    if (strcmp(query->what, "pkey") == 0 && query->index < info->pkey_count)
        tb_say(answer, "0x%04x", info->pkeys[query->index]);
    else if (strcmp(query->what, "gid") == 0 && query->index < info->gid_count) {
        char text[FABRIC_GID_TEXT];
        fabric_gid_format(&info->gids[query->index].gid, text);
        tb_say(answer, "%s", text);
    } else
        return false;
    return true;
}

static bool answer_plain(const struct port_info *info, const char *what, char *answer)
{
    if (strcmp(what, "lid") == 0)
        tb_say(answer, "%u", info->lid);
    else if (strcmp(what, "lmc") == 0)
        tb_say(answer, "%u", info->lmc);
    else if (strcmp(what, "sm_lid") == 0)
        tb_say(answer, "%u", info->sm_lid);
    else if (strcmp(what, "state") == 0)
        tb_say(answer, "%s", fabric_port_state_name((enum fabric_port_state)info->state));
    else if (strcmp(what, "mtu") == 0)
        tb_say(answer, "%u", fabric_mtu_bytes((enum fabric_mtu)info->active_mtu));
    else if (strcmp(what, "prefix") == 0)
        tb_say(answer, "0x%016" PRIx64, info->gid_prefix);
    else if (strcmp(what, "guid") == 0)
        tb_say(answer, "0x%016" PRIx64, info->guid);
    else if (strcmp(what, "rate") == 0)
        tb_say(answer, "%u", info->rate_mbps);
    else if (strcmp(what, "link_layer") == 0)
        tb_say(answer, "%s",
               info->link_layer == FABRIC_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand");
    else if (strcmp(what, "grh_required") == 0)
        tb_say(answer, "%s", info->grh_required ? "true" : "false");
    else if (strcmp(what, "bad_pkey") == 0)
        tb_say(answer, "%" PRIu64, info->counters.bad_pkey);
    else
        return false;
    return true;
}

bool tb_ask(struct tb_node *node, const char *text, char *answer)
{
    struct query query;
    assert(text && answer);
    uint32_t address = stream_host_address(sim_host_streams(node->host));
    if (strcmp(text, "address") == 0) {
        tb_say(answer, "%u.%u.%u.%u", address >> 24, address >> 16 & 255, address >> 8 & 255,
               address & 255);
        return true;
    }
    if (strcmp(text, "running") == 0) {
        tb_say(answer, "%s", node->fabric ? "true" : "false");
        return true;
    }
    if (strncmp(text, "http ", 5) == 0)
        return tb_http(node, text + 5, answer);
    if (!parse(text, &query)) {
        tb_say(answer, "'%.60s' is no query; there is: " FACTS, text);
        return false;
    }
    const struct tb_port *port = tb_port(node, query.device, query.port_num, answer);
    if (!port)
        return false;
    const struct port_info *info = net_port_info(tb_net_port(port));
    if (query.has_index ? answer_indexed(info, &query, answer)
                        : answer_plain(info, query.what, answer))
        return true;
    tb_say(answer, "'%.60s' cannot be asked; there is: " FACTS, text);
    return false;
}
