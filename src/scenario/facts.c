/* SPDX-License-Identifier: Apache-2.0 */
#include "src/scenario/facts.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/gid.h"

#define SAY(...) snprintf(answer, TESTBED_DETAIL, __VA_ARGS__)
#define MOST_DEVICES 64

struct question {
    char device[FABRIC_NAME_MAX], what[32];
    unsigned port, index;
    bool indexed;
};

static bool parse(const char *text, struct question *out)
{
    char place[FABRIC_NAME_MAX + 8];
    *out = (struct question){.port = 1};
    size_t length = strcspn(text, " ");
    if (length == 0 || length >= sizeof place || !text[length])
        return false;
    memcpy(place, text, length);
    place[length] = '\0';
    char *slash = strchr(place, '/');
    if (slash) {
        *slash = '\0';
        out->port = (unsigned)strtoul(slash + 1, NULL, 10);
    }
    if (strlen(place) >= FABRIC_NAME_MAX || out->port == 0 || out->port > 255)
        return false;
    memcpy(out->device, place, strlen(place) + 1);
    text += length + strspn(text + length, " ");
    length = strcspn(text, " ");
    if (length == 0 || length >= sizeof out->what)
        return false;
    memcpy(out->what, text, length);
    text += length + strspn(text + length, " ");
    out->indexed = *text != '\0';
    out->index = (unsigned)strtoul(text, NULL, 10);
    return true;
}

static bool answer_indexed(struct fabric *f, fabric_device device, const struct question *q,
                           char *answer)
{
    struct fabric_gid_entry entry = {0};
    char text[FABRIC_GID_TEXT];
    uint16_t pkey = 0;
    if (strcmp(q->what, "pkey") == 0) {
        if (fabric_pkey_query(f, device, (uint8_t)q->port, q->index, &pkey))
            return false;
        SAY("0x%04x", pkey);
        return true;
    }
    if (strcmp(q->what, "gid") != 0)
        return false;
    (void)fabric_gid_query(f, device, (uint8_t)q->port, q->index, &entry); /* a hole is zeros */
    fabric_gid_format(&entry.gid, text);
    SAY("%s", text);
    return true;
}

static bool answer_plain(const struct fabric_port_attr *port, const char *what, char *answer)
{
    if (strcmp(what, "lid") == 0)
        SAY("%u", port->lid);
    else if (strcmp(what, "lmc") == 0)
        SAY("%u", port->lmc);
    else if (strcmp(what, "sm_lid") == 0)
        SAY("%u", port->sm_lid);
    else if (strcmp(what, "state") == 0)
        SAY("%s", fabric_port_state_name(port->state));
    else if (strcmp(what, "mtu") == 0)
        SAY("%u", fabric_mtu_bytes(port->active_mtu));
    else if (strcmp(what, "guid") == 0)
        SAY("0x%016" PRIx64, port->port_guid);
    else if (strcmp(what, "rate") == 0)
        SAY("%u", port->active_speed_mbps);
    else if (strcmp(what, "link_layer") == 0)
        SAY("%s", port->link_layer == FABRIC_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand");
    else if (strcmp(what, "grh_required") == 0)
        SAY("%s", port->flags & FABRIC_PORT_GRH_REQUIRED ? "true" : "false");
    else if (strcmp(what, "bad_pkey") == 0)
        SAY("%u", port->bad_pkey_cntr);
    else
        return false;
    return true;
}

bool facts_answer(struct fabric *f, const char *query, char *answer)
{
    struct question q;
    struct fabric_port_attr port;
    struct fabric_device_attr attr;
    fabric_device device;
    assert(f && query && answer);
    if (!parse(query, &q) || fabric_device_open(f, q.device, &device)) {
        SAY("'%.60s' cannot be asked: no such device, or no query such as 'mlx5_0/1 state'", query);
        return false;
    }
    bool known = fabric_device_query(f, device, &attr) == FABRIC_OK && q.port <= attr.num_ports &&
                 fabric_port_query(f, device, (uint8_t)q.port, &port) == FABRIC_OK;
    known = known && (q.indexed ? answer_indexed(f, device, &q, answer)
                                : answer_plain(&port, q.what, answer));
    (void)fabric_device_close(f, device);
    if (!known)
        SAY("'%.60s' cannot be asked; there is lid, lmc, sm_lid, state, mtu, guid, rate, "
            "link_layer, "
            "grh_required, bad_pkey, pkey INDEX, gid INDEX",
            query);
    return known;
}

fabric_caps facts_caps(struct fabric *f)
{
    char names[MOST_DEVICES][FABRIC_NAME_MAX];
    struct fabric_guarantees guarantees = {0};
    size_t count = 0;
    assert(f);
    (void)fabric_guarantees(f, &guarantees);
    (void)fabric_device_list(f, names, MOST_DEVICES, &count);
    for (size_t i = 0; i < count && i < MOST_DEVICES; i++) {
        struct fabric_device_attr attr;
        struct fabric_port_attr port;
        fabric_device device;
        if (fabric_device_open(f, names[i], &device))
            continue;
        if (fabric_device_query(f, device, &attr) == FABRIC_OK)
            guarantees.caps |= attr.caps;
        if (fabric_port_query(f, device, 1, &port) == FABRIC_OK &&
            port.link_layer == FABRIC_LINK_LAYER_INFINIBAND)
            guarantees.caps |= FABRIC_CAP_LID;
        (void)fabric_device_close(f, device);
    }
    if (count == 0)
        guarantees.caps &= ~(FABRIC_CAP_RC | FABRIC_CAP_DC);
    return guarantees.caps;
}
