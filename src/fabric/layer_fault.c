/* SPDX-License-Identifier: Apache-2.0 */
#include "src/fabric/layer_fault.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/layer.h"
#include "src/fabric/planted.h"

/* Posts whose completion is to be forced travel under a wr_id of ours: this number, the layer's
 * depth and a place in the table. The caller's wr_ids are not ours to restrict, but nobody meets
 * these by accident; checked at every post. */
#define TOKEN UINT64_C(0xfa177000fa000000)
#define TOKEN_MASK UINT64_C(0xffffffffffff0000)
#define MAX_FORCED 256

struct rule {
    struct layer_fault_rule rule;
    uint64_t seen;
};

struct forced {
    bool used;
    uint64_t wr_id; /* the caller's */
    enum fabric_wc_status status;
};

struct live_qp {
    fabric_qp qp;
    fabric_device device;
    bool broken; /* in ERR because of us: what still succeeds on it is flushed */
};

struct fault {
    struct layer layer;
    struct rule rules[LAYER_FAULT_RULES];
    size_t rule_count;
    struct forced forced[MAX_FORCED];
    struct live_qp *qps;
    size_t qp_count, qp_capacity;
    uint64_t fired;
};

static struct fault *fault_of(struct fabric *f)
{
    return (struct fault *)f;
}

static uint64_t token_base(const struct fault *fault)
{
    return TOKEN | (uint64_t)(fault->layer.head.depth & 0xff) << 16;
}

static bool is_token(const struct fault *fault, uint64_t wr_id)
{
    return (wr_id & TOKEN_MASK) == token_base(fault);
}

/* Whether the rule fires for this call; counts it. */
static bool rule_fires(struct rule *rule)
{
    rule->seen++;
    if (rule->seen < rule->rule.nth)
        return false;
    if (PLANTED(fabric_fault_repeats_for_ever))
        return true;
    return rule->rule.repeat == 0 || rule->seen - rule->rule.nth < rule->rule.repeat;
}

/* The rule that decides this call, or null. All matching rules count it. */
static const struct layer_fault_rule *decide(struct fault *fault, enum fabric_op op)
{
    const struct layer_fault_rule *first = NULL;
    for (size_t i = 0; i < fault->rule_count; i++) {
        struct rule *rule = &fault->rules[i];
        bool any = rule->rule.op == LAYER_FAULT_ANY && fabric_op_fault(op) != FABRIC_OK;
        if ((rule->rule.op == op || any) && rule_fires(rule) && !first)
            first = &rule->rule;
    }
    if (first && !PLANTED(fabric_fault_uncounted))
        fault->fired++;
    return first;
}

/* FABRIC_OK: go on. */
static enum fabric_error ask(struct fabric *f, enum fabric_op op)
{
    const struct layer_fault_rule *rule = decide(fault_of(f), op);
    if (!rule)
        return FABRIC_OK;
    assert(rule->status == FABRIC_WC_SUCCESS);
    return rule->error ? rule->error : fabric_op_fault(op);
}

#define X(upper, lower, parameters, arguments, fault)                                              \
    static enum fabric_error fault_##lower parameters                                              \
    {                                                                                              \
        struct fabric *next = layer_next(f);                                                       \
        enum fabric_error error = ask(f, FABRIC_OP_##upper);                                       \
        return error ? error : fabric_##lower arguments;                                           \
    }
#include "src/fabric/ops.def"
#undef X

static const struct fabric_ops fault_ops = {
#define X(upper, lower, parameters, arguments, fault) .lower = fault_##lower,
#include "src/fabric/ops.def"
#undef X
};

static enum fabric_error destroy(struct fabric *f)
{
    struct fault *fault = fault_of(f);
    enum fabric_error error = fabric_destroy(fault->layer.next);
    free(fault->qps);
    free(fault);
    return error;
}

/* A place for a post's own wr_id, under the token that is returned; 0 when there is none. */
static uint64_t remember(struct fault *fault, uint64_t wr_id, enum fabric_wc_status status)
{
    for (size_t i = 0; i < MAX_FORCED; i++) {
        if (fault->forced[i].used)
            continue;
        fault->forced[i] = (struct forced){true, wr_id, status};
        return token_base(fault) + i;
    }
    return 0;
}

static void forget(struct fault *fault, uint64_t token)
{
    assert((token & ~TOKEN_MASK) < MAX_FORCED);
    fault->forced[token & ~TOKEN_MASK].used = false;
}

static enum fabric_error post_send(struct fabric *f, fabric_qp qp, const struct fabric_send_wr *wr)
{
    struct fault *fault = fault_of(f);
    assert(!is_token(fault, wr->wr_id));
    const struct layer_fault_rule *rule = decide(fault, FABRIC_OP_QP_POST_SEND);
    if (!rule)
        return fabric_qp_post_send(fault->layer.next, qp, wr);
    if (rule->status == FABRIC_WC_SUCCESS)
        return rule->error ? rule->error : fabric_op_fault(FABRIC_OP_QP_POST_SEND);
    struct fabric_send_wr forced = *wr;
    forced.wr_id = remember(fault, wr->wr_id, rule->status);
    forced.flags |= FABRIC_SEND_SIGNALED; /* a failed post has a completion of its own */
    if (forced.wr_id == 0)
        return ERR_QUEUE_FULL;
    enum fabric_error error = fabric_qp_post_send(fault->layer.next, qp, &forced);
    if (error)
        forget(fault, forced.wr_id);
    return error;
}

static enum fabric_error post_recv(struct fabric *f, fabric_qp qp, const struct fabric_recv_wr *wr)
{
    struct fault *fault = fault_of(f);
    assert(!is_token(fault, wr->wr_id));
    const struct layer_fault_rule *rule = decide(fault, FABRIC_OP_QP_POST_RECV);
    if (!rule)
        return fabric_qp_post_recv(fault->layer.next, qp, wr);
    if (rule->status == FABRIC_WC_SUCCESS)
        return rule->error ? rule->error : fabric_op_fault(FABRIC_OP_QP_POST_RECV);
    struct fabric_recv_wr forced = *wr;
    forced.wr_id = remember(fault, wr->wr_id, rule->status);
    if (forced.wr_id == 0)
        return ERR_QUEUE_FULL;
    enum fabric_error error = fabric_qp_post_recv(fault->layer.next, qp, &forced);
    if (error)
        forget(fault, forced.wr_id);
    return error;
}

static struct live_qp *find_qp(struct fault *fault, fabric_qp qp)
{
    for (size_t i = 0; i < fault->qp_count; i++) {
        if (fault->qps[i].qp.id == qp.id)
            return &fault->qps[i];
    }
    return NULL;
}

/* The queue pair goes to ERR, as after a real failure; one that is gone has no state to change. */
static void break_qp(struct fault *fault, fabric_qp qp)
{
    const struct fabric_qp_attr attr = {.state = FABRIC_QPS_ERR};
    struct fabric_qp_info info;
    struct live_qp *live = find_qp(fault, qp);
    if (!live || live->broken || PLANTED(fabric_fault_queue_pair_survives))
        return;
    live->broken = true;
    if (fabric_qp_query(fault->layer.next, qp, &info) == FABRIC_OK && info.state != FABRIC_QPS_ERR)
        (void)fabric_qp_modify(fault->layer.next, qp, &attr);
}

/* The status to force upon a completion, SUCCESS for none; gives it its own wr_id back. */
static enum fabric_wc_status forced_status(struct fault *fault, struct fabric_wc *wc)
{
    enum fabric_wc_status status = FABRIC_WC_SUCCESS;
    if (is_token(fault, wc->wr_id)) {
        struct forced *forced = &fault->forced[wc->wr_id & ~TOKEN_MASK];
        assert(forced->used);
        wc->wr_id = forced->wr_id;
        forced->used = false;
        status = forced->status;
    }
    if (wc->status != FABRIC_WC_SUCCESS)
        return FABRIC_WC_SUCCESS; /* it failed by itself */
    const struct live_qp *live = find_qp(fault, wc->qp);
    if (live && live->broken)
        return FABRIC_WC_WR_FLUSH_ERR;
    if (status != FABRIC_WC_SUCCESS)
        return status;
    const struct layer_fault_rule *rule = decide(fault, FABRIC_OP_POLL);
    return rule ? rule->status : FABRIC_WC_SUCCESS;
}

static void change(struct fault *fault, struct fabric_wc *wc)
{
    enum fabric_wc_status status = forced_status(fault, wc);
    if (status == FABRIC_WC_SUCCESS)
        return;
    wc->status = status;
    wc->vendor_err = 0;
    break_qp(fault, wc->qp);
}

static enum fabric_error poll(struct fabric *f, struct fabric_event *events, size_t capacity,
                              uint64_t deadline, size_t *count)
{
    struct fault *fault = fault_of(f);
    enum fabric_error error = fabric_poll(fault->layer.next, events, capacity, deadline, count);
    if (error)
        return error;
    for (size_t i = 0; i < *count; i++) {
        if (events[i].type == FABRIC_EVENT_COMPLETION)
            change(fault, &events[i].u.wc);
    }
    return FABRIC_OK;
}

static enum fabric_error modify(struct fabric *f, fabric_qp qp, const struct fabric_qp_attr *attr)
{
    enum fabric_error error = fault_qp_modify(f, qp, attr);
    struct live_qp *live = find_qp(fault_of(f), qp);
    if (!error && live && attr->state == FABRIC_QPS_INIT)
        live->broken = false;
    return error;
}

static bool make_room(struct fault *fault)
{
    if (fault->qp_count < fault->qp_capacity)
        return true;
    size_t capacity = fault->qp_capacity * 2 + 8;
    struct live_qp *grown = realloc(fault->qps, capacity * sizeof(*grown));
    if (!grown)
        return false;
    fault->qps = grown;
    fault->qp_capacity = capacity;
    return true;
}

static enum fabric_error create_qp(struct fabric *f, fabric_device device,
                                   const struct fabric_qp_init *init, fabric_qp *out)
{
    struct fault *fault = fault_of(f);
    if (!make_room(fault))
        return ERR_RESOURCES_EXHAUSTED;
    enum fabric_error error = fault_qp_create(f, device, init, out);
    if (!error)
        fault->qps[fault->qp_count++] = (struct live_qp){*out, device, false};
    return error;
}

static enum fabric_error destroy_qp(struct fabric *f, fabric_qp qp)
{
    struct fault *fault = fault_of(f);
    struct live_qp *live = find_qp(fault, qp);
    if (live)
        *live = fault->qps[--fault->qp_count];
    return fabric_qp_destroy(fault->layer.next, qp);
}

static enum fabric_error close_device(struct fabric *f, fabric_device device)
{
    struct fault *fault = fault_of(f);
    size_t kept = 0;
    for (size_t i = 0; i < fault->qp_count; i++) {
        if (fault->qps[i].device.id != device.id)
            fault->qps[kept++] = fault->qps[i];
    }
    fault->qp_count = kept;
    return fabric_device_close(fault->layer.next, device);
}

enum fabric_error layer_fault_create(struct fabric *next, struct fabric **out)
{
    assert(next && out);
    struct fault *fault = calloc(1, sizeof(*fault));
    if (!fault)
        return ERR_RESOURCES_EXHAUSTED;
    layer_init(&fault->layer, next);
    struct fabric_ops *ops = &fault->layer.ops;
    enum fabric_error (*wake)(struct fabric *) = ops->wake; /* other threads: counts nothing */
    *ops = fault_ops;
    ops->wake = wake;
    ops->destroy = destroy;
    ops->poll = poll;
    ops->device_close = close_device;
    ops->qp_create = create_qp;
    ops->qp_destroy = destroy_qp;
    ops->qp_modify = modify;
    ops->qp_post_send = post_send;
    ops->qp_post_recv = post_recv;
    *out = &fault->layer.head;
    return FABRIC_OK;
}

enum fabric_error layer_fault_add(struct fabric *f, const struct layer_fault_rule *rule)
{
    struct fault *fault = fault_of(f);
    assert(f && rule && rule->nth > 0 && f->ops->poll == poll);
    if (rule->status == FABRIC_WC_SUCCESS)
        assert(rule->op == LAYER_FAULT_ANY || fabric_op_fault(rule->op) != FABRIC_OK);
    else
        assert(rule->op == FABRIC_OP_POLL || rule->op == FABRIC_OP_QP_POST_SEND ||
               rule->op == FABRIC_OP_QP_POST_RECV);
    if (fault->rule_count == LAYER_FAULT_RULES)
        return ERR_RESOURCES_EXHAUSTED;
    fault->rules[fault->rule_count++] = (struct rule){*rule, 0};
    return FABRIC_OK;
}

void layer_fault_clear(struct fabric *f)
{
    assert(f && f->ops->poll == poll);
    fault_of(f)->rule_count = 0;
}

uint64_t layer_fault_fired(const struct fabric *f)
{
    assert(f && f->ops->poll == poll);
    return ((const struct fault *)f)->fired;
}
