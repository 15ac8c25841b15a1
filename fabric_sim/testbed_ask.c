/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about a node that need no program. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/testbed_state.h"
#include "src/fabric/gid.h"

#define FACTS TESTBED_NODE_FACTS_TEXT " or DEVICE/PORT and one of" TESTBED_PORT_FACTS_TEXT

struct query { /* "mlx5_0/1 pkey 1" */
    char device[FABRIC_NAME_MAX];
    uint8_t port_num;
    enum testbed_fact what;
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

/* TESTBED_FACT_COUNT: none of this name. */
static enum testbed_fact fact_by_name(const char *name)
{
    static const char *const names[TESTBED_FACT_COUNT] = {
#define NAME(upper, lower, follows) #lower,
        TESTBED_NODE_FACTS(NAME) TESTBED_PORT_FACTS(NAME)
#undef NAME
    };
    unsigned at = 0;
    while (at < TESTBED_FACT_COUNT && strcmp(names[at], name) != 0)
        at++;
    return (enum testbed_fact)at;
}

static bool parse(const char *text, struct query *query)
{
    unsigned long number = 1;
    char what[32];
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
    if (!take_word(&text, " ", what, sizeof(what)))
        return false;
    query->what = fact_by_name(what);
    text += strspn(text, " ");
    if (*text == '\0')
        return true;
    query->has_index = take_number(&text, UINT16_MAX, &number);
    query->index = (uint32_t)number;
    return query->has_index && *text == '\0';
}

static bool answer_indexed(const struct port_info *info, const struct query *query, char *answer)
{
    assert(query->has_index);
    if (query->what == TESTBED_FACT_PKEY && query->index < info->pkey_count)
        tb_say(answer, "0x%04x", info->pkeys[query->index]);
    else if (query->what == TESTBED_FACT_GID && query->index < info->gid_count) {
        char text[FABRIC_GID_TEXT];
        fabric_gid_format(&info->gids[query->index].gid, text);
        tb_say(answer, "%s", text);
    } else
        return false;
    return true;
}

static bool answer_text(const struct port_info *info, enum testbed_fact what, char *answer)
{
    if (what == TESTBED_FACT_STATE)
        tb_say(answer, "%s", fabric_port_state_name((enum fabric_port_state)info->state));
    else if (what == TESTBED_FACT_PREFIX)
        tb_say(answer, "0x%016" PRIx64, info->gid_prefix);
    else if (what == TESTBED_FACT_GUID)
        tb_say(answer, "0x%016" PRIx64, info->guid);
    else if (what == TESTBED_FACT_LINK_LAYER)
        tb_say(answer, "%s",
               info->link_layer == FABRIC_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand");
    else if (what == TESTBED_FACT_GRH_REQUIRED)
        tb_say(answer, "%s", info->grh_required ? "true" : "false");
    else
        return false;
    return true;
}

static bool answer_number(const struct port_info *info, enum testbed_fact what, char *answer)
{
    uint64_t number;
    switch (what) {
    case TESTBED_FACT_LID:
        number = info->lid;
        break;
    case TESTBED_FACT_LMC:
        number = info->lmc;
        break;
    case TESTBED_FACT_SM_LID:
        number = info->sm_lid;
        break;
    case TESTBED_FACT_MTU:
        number = fabric_mtu_bytes((enum fabric_mtu)info->active_mtu);
        break;
    case TESTBED_FACT_RATE:
        number = info->rate_mbps;
        break;
    case TESTBED_FACT_BAD_PKEY:
        number = info->counters.bad_pkey;
        break;
    default:
        return false;
    }
    tb_say(answer, "%" PRIu64, number);
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
        tb_say(answer, "there is:" FACTS " but no '%.60s'", text);
        return false;
    }
    const struct tb_port *port = tb_port(node, query.device, query.port_num, answer);
    if (!port)
        return false;
    const struct port_info *info = net_port_info(tb_net_port(port));
    if (query.has_index
            ? answer_indexed(info, &query, answer)
            : answer_number(info, query.what, answer) || answer_text(info, query.what, answer))
        return true;
    tb_say(answer, "there is:" FACTS " but no '%.60s'", text);
    return false;
}
