/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One timer per requester, for its ACK time-out or its RNR wait. It is lazy: progress only moves
 * the deadline, and the scheduled event, when it comes early, goes to sleep again until then.
 */
#include "fabric_sim/hca/engine.h"

#include <assert.h>

#include "src/fabric/planted.h"

static void expire(struct qp_context *ctx);

static void timer_due(void *object, uint64_t unused)
{
    (void)unused;
    struct qp_context *ctx = object;
    struct requester *req = ctx->req;
    ctx->timer = 0;
    if (!req->deadline)
        return;
    uint64_t now = sim_now(ctx->hca->sim);
    if (now < req->deadline) {
        ctx->armed = req->deadline;
        ctx->timer = sim_at(ctx->hca->sim, ctx->armed, timer_due, ctx, 0);
        return;
    }
    req->deadline = 0;
    expire(ctx);
}

static void timer_set(struct qp_context *ctx, uint64_t deadline)
{
    struct requester *req = ctx->req;
    assert(deadline >= sim_now(ctx->hca->sim));
    req->deadline = deadline;
    if (ctx->timer && ctx->armed <= deadline)
        return;
    if (ctx->timer)
        sim_cancel(ctx->hca->sim, ctx->timer);
    ctx->armed = deadline;
    ctx->timer = sim_at(ctx->hca->sim, deadline, timer_due, ctx, 0);
}

void timer_stop(struct qp_context *ctx)
{
    assert(!ctx->req->rnr_waiting || PLANTED(hca_nak_ends_rnr_wait)); /* it would never end */
    ctx->req->deadline = 0;
}

void timer_cancel(struct qp_context *ctx)
{
    ctx->req->deadline = 0;
    if (ctx->timer)
        sim_cancel(ctx->hca->sim, ctx->timer);
    ctx->timer = 0;
    if (ctx->turn)
        sim_cancel(ctx->hca->sim, ctx->turn);
    ctx->turn = 0;
}

/* Chapter 9.7.6.1.3: an unanswered request is detected between T and 4T. */
static uint64_t detection(struct qp_context *ctx)
{
    const struct hca *hca = ctx->hca;
    uint8_t floor =
        hca_has(hca, FABRIC_CAP_ACK_TIMEOUT_FLOOR) ? hca->profile->ack_timeout_floor : 0;
    uint64_t t = rules_ack_timeout(ctx->qp->attr.timeout, floor);
    if (t == 0)
        return 0;
    if (PLANTED(hca_timeout_short))
        return sim_random_between(hca->sim, t / 4, t / 2);
    if (PLANTED(hca_timeout_long))
        return 5 * t;
    return sim_random_between(hca->sim, t, hca->profile->ack_timeout_stretch * t);
}

void timer_await(struct qp_context *ctx)
{
    if (ctx->req->deadline)
        return;
    uint64_t interval = detection(ctx);
    if (interval)
        timer_set(ctx, sim_now(ctx->hca->sim) + interval);
}

void timer_progress(struct qp_context *ctx)
{
    struct requester *req = ctx->req;
    if (!PLANTED(hca_retries_not_restored))
        req->retry_left = ctx->qp->attr.retry_cnt;
    req->rnr_left = ctx->qp->attr.rnr_retry;
    req->restarting = false;
    if (req->rnr_waiting)
        return;
    req->deadline = 0;
    if (rules_psn_diff(req->awaited_psn, req->una_psn) >= 0 || PLANTED(hca_idle_notices))
        timer_await(ctx);
}

void timer_rnr(struct qp_context *ctx, uint8_t code)
{
    assert(!ctx->req->rnr_waiting && code < 32);
    ctx->req->rnr_waiting = true;
    uint64_t wait = PLANTED(hca_rnr_timer) ? 10000 : rules_rnr_timer(code);
    timer_set(ctx, sim_now(ctx->hca->sim) + wait);
}

static void expire(struct qp_context *ctx)
{
    struct requester *req = ctx->req;
    if (req->rnr_waiting) {
        req->rnr_waiting = false;
        context_ready(ctx);
        return;
    }
    SIM_TRACE(ctx->hca->sim, ctx->hca->label, "timeout qp=0x%06x psn=%u left=%u",
              (unsigned)ctx->qp->qp_num, (unsigned)req->una_psn, (unsigned)req->retry_left);
    if (PLANTED(hca_idle_notices) && req->una_psn == req->next_psn)
        qp_enter_error(ctx);
    else if (requester_rewind(ctx))
        context_ready(ctx);
}
