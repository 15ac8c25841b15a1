/* SPDX-License-Identifier: Apache-2.0 */
/* Fault words: what they are about, whether this fabric can, and taking them back. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/testbed_state.h"
#include "src/fabric/gid.h"
#include "src/fabric/planted.h"

struct word {
    const char *name;
    enum fabric_cap_bit cap;
};

static const struct word words[] = {
#define WORD(upper, lower, cap) {#lower, FABRIC_CAP_BIT_##cap},
    TESTBED_WORDS(WORD)
#undef WORD
};

enum about { ABOUT_NODE, ABOUT_DEVICE, ABOUT_PORT, ABOUT_PAIR, ABOUT_SM, ABOUT_NETWORK };

static enum about about(enum testbed_word word)
{
    switch (word) {
    case TESTBED_SM_START:
    case TESTBED_SM_STOP:
    case TESTBED_SM_RESTART:
    case TESTBED_SM_HANDOVER:
    case TESTBED_SM_SLOW:
    case TESTBED_SM_REFUSE:
        return ABOUT_SM;
    case TESTBED_LMC_SET:
    case TESTBED_PREFIX_SET:
    case TESTBED_SL_MAP:
        return ABOUT_NETWORK;
    case TESTBED_LID_SWAP:
        return ABOUT_PAIR;
    case TESTBED_EVENT_HOLD:
    case TESTBED_EVENT_LOSE:
    case TESTBED_EVENT_DUPLICATE:
    case TESTBED_EVENT_ORDER:
    case TESTBED_DEVICE_REMOVE:
    case TESTBED_DEVICE_RETURN:
    case TESTBED_DC_KEY_CHANGE:
        return ABOUT_DEVICE;
    default:
        return word >= TESTBED_VERB_FAILS ? ABOUT_NODE : ABOUT_PORT;
    }
}

static bool find_node(struct tb_target *target, const struct testbed_fault *fault, enum about what,
                      char *detail)
{
    struct tb_node *node = tb_node(target->tb, fault->node, detail);
    target->node = node;
    if (!node)
        return false;
    target->inverse.node = node->name;
    if (fault->peer) {
        target->peer = tb_node(target->tb, fault->peer, detail);
        if (!target->peer)
            return false;
        target->inverse.peer = target->peer->name;
    }
    if (what == ABOUT_NODE)
        return true;
    target->device = tb_device(node, fault->device, detail);
    if (!target->device)
        return false;
    target->inverse.device = sim_device_name(target->device);
    if (what == ABOUT_DEVICE)
        return true;
    target->port = tb_port(node, fault->device, fault->port, detail);
    if (!target->port)
        return false;
    target->inverse.port = target->port->port_num;
    target->network = target->port->network;
    if (what == ABOUT_PAIR && !target->peer)
        tb_say(detail, "a peer is needed");
    if (what == ABOUT_PAIR)
        target->peer_port = target->peer ? tb_port(target->peer, NULL, 0, detail) : NULL;
    return what != ABOUT_PAIR || target->peer_port;
}

static bool find_target(struct tb_target *target, const struct testbed_fault *fault, char *detail)
{
    enum about what = about(fault->word);
    if (what == ABOUT_SM) {
        target->sm = tb_sm(target->tb, fault->sm, detail);
        target->inverse.sm = target->sm ? target->sm->name : NULL;
        target->network = target->sm ? target->sm->network : NULL;
        return target->sm != NULL;
    }
    if (what == ABOUT_NETWORK) {
        target->network = tb_network(target->tb, fault->network, detail);
        target->inverse.network = target->network ? target->network->name : NULL;
        return target->network != NULL;
    }
    return find_node(target, fault, what, detail);
}

static bool carry_out(struct tb_target *target, const struct testbed_fault *fault, char *detail)
{
    tb_act act = tb_fabric_act(fault->word);
    if (!act)
        act = tb_machine_act(fault->word);
    assert(act);
    return act(target, fault, detail);
}

/* Words that take each other back are one. */
static enum testbed_word family(enum testbed_word word)
{
    switch (word) {
    case TESTBED_PORT_UP:
        return TESTBED_PORT_DOWN;
    case TESTBED_CABLE_PLUG:
        return TESTBED_CABLE_PULL;
    case TESTBED_SM_START:
        return TESTBED_SM_STOP;
    case TESTBED_DEVICE_RETURN:
        return TESTBED_DEVICE_REMOVE;
    case TESTBED_PROCESS_RESTART:
        return TESTBED_PROCESS_KILL;
    case TESTBED_POWER_RETURN:
        return TESTBED_POWER_LOSS;
    default:
        return word;
    }
}

static bool same_name(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static const struct tb_network *network_of_sm(struct testbed *tb, const char *name)
{
    char detail[TESTBED_DETAIL];
    const struct tb_sm *sm = name ? tb_sm(tb, name, detail) : NULL;
    return sm ? sm->network : NULL;
}

/* Whether both take the same thing back, so that the older one, which knows how it was before any
 * fault, is enough. */
static bool same_thing(struct testbed *tb, const struct tb_undo *a, const struct tb_undo *b)
{
    const struct testbed_fault *x = &a->fault, *y = &b->fault;
    if (a->kind != b->kind || a->port != b->port || family(x->word) != family(y->word))
        return false;
    if (x->word == TESTBED_LID_SWAP) /* twice is not once */
        return false;
    if (x->word == TESTBED_SM_HANDOVER)
        return network_of_sm(tb, x->sm) == network_of_sm(tb, y->sm);
    return same_name(x->node, y->node) && same_name(x->device, y->device) && x->port == y->port &&
           same_name(x->sm, y->sm) && same_name(x->network, y->network) &&
           same_name(x->peer, y->peer) && x->index == y->index;
}

/* Whether `between` moved to another port what `undo` is about: then no older one tells how it was.
 */
static bool has_moved(const struct tb_undo *between, const struct tb_undo *undo)
{
    assert(between && undo);
    if (between->kind != UNDO_FAULT || undo->kind != UNDO_FAULT || PLANTED(testbed_undo_past_swap))
        return false;
    return between->fault.word == TESTBED_LID_SWAP && undo->fault.word == TESTBED_LID_SET;
}

void tb_undo_later(struct testbed *tb, const struct tb_undo *undo)
{
    for (struct tb_undo *older = tb->undos; older && !has_moved(older, undo); older = older->next) {
        if (!same_thing(tb, older, undo) || PLANTED(testbed_undo_twice))
            continue;
        older->gids_touched |= undo->gids_touched;
        return;
    }
    struct tb_undo *kept = malloc(sizeof(*kept));
    assert(kept && (undo->kind == UNDO_FAULT) == (undo->port == NULL));
    *kept = *undo;
    kept->next = tb->undos;
    tb->undos = kept;
}

static void trace_fault(struct testbed *tb, const struct testbed_fault *fault, const char *what)
{
    SIM_TRACE(tb->sim, "testbed", "%s %s%s%s%s%s%s%s index=%u value=%" PRIu64 " on=%d", what,
              words[fault->word].name, fault->node ? " node=" : "", fault->node ? fault->node : "",
              fault->sm ? " sm=" : "", fault->sm ? fault->sm : "",
              fault->network ? " network=" : "", fault->network ? fault->network : "", fault->index,
              fault->value, fault->on);
}

enum testbed_result tb_apply(struct testbed *tb, const struct testbed_fault *fault, char *detail)
{
    struct tb_target target = {.tb = tb, .inverse.word = TESTBED_WORD_COUNT};
    assert(fault->word < TESTBED_WORD_COUNT);
    const struct word *word = &words[fault->word];
    if (!(tb->caps & UINT64_C(1) << word->cap) && !PLANTED(testbed_lack_ignored)) {
        tb_say(detail, "%s needs the capability %s", word->name, fabric_cap_name(word->cap));
        return TESTBED_LACKS;
    }
    if (!find_target(&target, fault, detail))
        return TESTBED_WRONG;
    trace_fault(tb, fault, "fault");
    if (!carry_out(&target, fault, detail))
        return TESTBED_WRONG;
    if (target.inverse.word != TESTBED_WORD_COUNT && !PLANTED(testbed_undo_forgets)) {
        const struct tb_undo undo = {.kind = UNDO_FAULT, .fault = target.inverse};
        tb_undo_later(tb, &undo);
    }
    return TESTBED_DONE;
}

/* ------------------------------------------------------------------ taking back */

static void restore_pkeys(struct testbed *tb, const struct tb_undo *undo)
{
    uint64_t guid = tb_port_guid(undo->port);
    uint16_t now[PORT_PKEYS];
    assert(undo->kind == UNDO_PKEYS);
    for (size_t i = 0; i < tb->sm_count; i++) {
        struct tb_sm *sm = &tb->sms[i];
        if (sm->network != undo->port->network)
            continue;
        sm_pkey_table(sm->sm, guid, now);
        for (uint16_t j = 0; j < PORT_PKEYS; j++) {
            if (now[j] != undo->pkeys[j])
                (void)sm_pkey_set(sm->sm, guid, undo->pkeys[j], j);
        }
    }
}

/* Only what was touched; a subnet prefix that was set meanwhile holds for what comes back too. */
static void restore_gids(const struct tb_undo *undo)
{
    assert(undo->kind == UNDO_GIDS);
    struct net_port *port = tb_net_port(undo->port);
    struct port_info *info = net_port_info(port), before = *info;
    for (size_t i = 0; i < PORT_GIDS; i++) {
        struct port_gid *gid = &info->gids[i];
        if (!(undo->gids_touched & 1u << i) && !PLANTED(testbed_gids_wholly_back))
            continue;
        *gid = undo->gids[i];
        if (gid->type == FABRIC_GID_TYPE_IB && undo->prefix != info->gid_prefix &&
            !PLANTED(testbed_gid_prefix_stale) && fabric_gid_prefix(&gid->gid) == undo->prefix)
            memcpy(gid->gid.raw, fabric_gid_make(info->gid_prefix, 0).raw, 8);
    }
    net_port_changed(port, &before);
}

static void take_back(struct testbed *tb, const struct tb_undo *undo)
{
    struct tb_target target = {.tb = tb, .inverse.word = TESTBED_WORD_COUNT};
    char detail[TESTBED_DETAIL];
    if (undo->kind == UNDO_PKEYS)
        restore_pkeys(tb, undo);
    else if (undo->kind == UNDO_GIDS)
        restore_gids(undo);
    else if (find_target(&target, &undo->fault, detail)) {
        trace_fault(tb, &undo->fault, "undo");
        (void)carry_out(&target, &undo->fault, detail);
    }
}

/* What undoing a P_Key or GID change remembers for its own undo is dropped again. */
void tb_undo_all(struct testbed *tb)
{
    struct tb_undo *undos = tb->undos;
    tb->undos = NULL;
    while (undos) {
        struct tb_undo *undo = undos;
        take_back(tb, undo);
        undos = undo->next;
        free(undo);
    }
    while (tb->undos) {
        struct tb_undo *undo = tb->undos;
        tb->undos = undo->next;
        free(undo);
    }
}
