/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "fabric_hw/os/dcb.h"

#include <assert.h>
#include <libmnl/libmnl.h>
#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "src/fabric/planted.h"

#define PRIORITIES 8
#define DSCPS 64
#define SELECTOR_DSCP 5 /* IEEE 802.1Qcd: the application entry is a DSCP value */

#define TRUST_TABLE 11 /* DCB_ATTR_DCB_APP_TRUST_TABLE of kernels from 6.3 on */

struct answer {
    struct fabric_dcb dcb;
    bool has_dscp;  /* entries exist */
    bool has_trust; /* the kernel says what is trusted */
};

static void read_ets(const struct nlattr *attribute, struct answer *out)
{
    struct ieee_ets ets;
    if (mnl_attr_get_payload_len(attribute) < sizeof(ets))
        return;
    memcpy(&ets, mnl_attr_get_payload(attribute), sizeof(ets));
    for (size_t i = 0; i < PRIORITIES; i++)
        out->dcb.ets_tc[i] = ets.prio_tc[i] < PRIORITIES ? ets.prio_tc[i] : 0;
}

static void read_pfc(const struct nlattr *attribute, struct answer *out)
{
    struct ieee_pfc pfc;
    if (mnl_attr_get_payload_len(attribute) < sizeof(pfc))
        return;
    memcpy(&pfc, mnl_attr_get_payload(attribute), sizeof(pfc));
    out->dcb.pfc_enabled = pfc.pfc_en;
}

/* Of several entries for one DSCP the highest priority counts, as in the kernel. */
static int on_app(const struct nlattr *attribute, void *context)
{
    struct answer *out = context;
    struct dcb_app app;
    if (mnl_attr_get_type(attribute) != DCB_ATTR_IEEE_APP ||
        mnl_attr_get_payload_len(attribute) < sizeof(app))
        return MNL_CB_OK;
    memcpy(&app, mnl_attr_get_payload(attribute), sizeof(app));
    if (app.selector != SELECTOR_DSCP || app.protocol >= DSCPS || app.priority >= PRIORITIES)
        return MNL_CB_OK;
    out->has_dscp = true;
    if (app.priority > out->dcb.dscp_prio[app.protocol] || PLANTED(os_dcb_last_entry))
        out->dcb.dscp_prio[app.protocol] = app.priority;
    return MNL_CB_OK;
}

/* Selectors, the most trusted first. */
static int on_trust(const struct nlattr *attribute, void *context)
{
    struct answer *out = context;
    if (mnl_attr_get_payload_len(attribute) < 1)
        return MNL_CB_OK;
    out->dcb.trusts_dscp = mnl_attr_get_u8(attribute) == SELECTOR_DSCP;
    return MNL_CB_STOP;
}

static int on_ieee(const struct nlattr *attribute, void *context)
{
    struct answer *out = context;
    switch (mnl_attr_get_type(attribute)) {
    case DCB_ATTR_IEEE_ETS:
        read_ets(attribute, out);
        break;
    case DCB_ATTR_IEEE_PFC:
        read_pfc(attribute, out);
        break;
    case DCB_ATTR_IEEE_APP_TABLE:
        (void)mnl_attr_parse_nested(attribute, on_app, out);
        break;
    case TRUST_TABLE:
        out->has_trust = true;
        (void)mnl_attr_parse_nested(attribute, on_trust, out);
        break;
    default:
        break;
    }
    return MNL_CB_OK;
}

static int on_attribute(const struct nlattr *attribute, void *context)
{
    struct answer *out = context;
    if (mnl_attr_get_type(attribute) == DCB_ATTR_IEEE) {
        out->dcb.present = true;
        (void)mnl_attr_parse_nested(attribute, on_ieee, out);
    }
    return MNL_CB_OK;
}

bool os_dcb_read(const void *message, size_t length, struct fabric_dcb *out)
{
    const struct nlmsghdr *header = message;
    struct answer answer = {.dcb.known = true};
    assert(message && out);
    if (length > INT32_MAX || !mnl_nlmsg_ok(header, (int)length) ||
        (header->nlmsg_type != RTM_GETDCB && header->nlmsg_type != RTM_SETDCB) ||
        mnl_nlmsg_get_payload_len(header) < sizeof(struct dcbmsg))
        return false;
    /* The library takes lengths above 2^31 for negative, and looks as far as the length rounded up.
     */
    if (header->nlmsg_len > length || header->nlmsg_len % MNL_ALIGNTO)
        return false;
    (void)mnl_attr_parse(header, sizeof(struct dcbmsg), on_attribute, &answer);
    /* Before the kernel could say it, drivers trusted the DSCP as soon as there was an entry. */
    if (!answer.has_trust)
        answer.dcb.trusts_dscp = answer.has_dscp;
    *out = answer.dcb;
    return true;
}
