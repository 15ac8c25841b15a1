/* SPDX-License-Identifier: Apache-2.0 */
/* Memory windows: allocated by the daemon, bound and invalidated by work requests. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "fabric_sim/verbs/plugin.h"

_Static_assert((int)HCA_MW_TYPE_2 == IBV_MW_TYPE_2, "one numbering of windows");

struct ibv_mw *plugin_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
    assert(pd);
    struct protocol_request request = client_request(PROTOCOL_ALLOC_MW);
    struct protocol_reply reply;
    struct plugin_mw *mw = calloc(1, sizeof(*mw));
    int error = mw ? 0 : ENOMEM;
    request.u.mw.pd = ((struct plugin_pd *)pd)->handle;
    request.u.mw.type = type;
    if (!error)
        error = plugin_call(context_of_plugin(pd->context), &request, &reply, NULL);
    if (error) {
        free(mw);
        errno = error;
        return NULL;
    }
    mw->handle = reply.u.made.handle;
    mw->id = reply.u.made.id;
    mw->mw = (struct ibv_mw){.context = pd->context,
                             .pd = pd,
                             .rkey = reply.u.made.key,
                             .handle = mw->handle,
                             .type = type};
    return &mw->mw;
}

int plugin_dealloc_mw(struct ibv_mw *mw)
{
    struct plugin_mw *of = (struct plugin_mw *)mw;
    int error = plugin_end(context_of_plugin(mw->context), PROTOCOL_DEALLOC_MW, of->handle);
    if (!error)
        free(of);
    return error;
}

bool plugin_bind_of(const struct ibv_mw *mw, enum ibv_mw_type type, uint32_t rkey,
                    const struct ibv_mw_bind_info *info, struct hca_send_wr *out)
{
    assert(info && out);
    bool region = info->mr || (info->addr == 0 && info->length == 0);
    if (!mw || mw->type != type || !region || (info->mw_access_flags & IBV_ACCESS_ZERO_BASED))
        return false;
    out->opcode = HCA_WR_BIND_MW;
    out->rkey = rkey;
    out->bind =
        (struct hca_bind){.mw = {((const struct plugin_mw *)mw)->id},
                          .lkey = info->mr ? info->mr->lkey : 0,
                          .access = info->mw_access_flags & ~(unsigned)IBV_ACCESS_LOCAL_WRITE,
                          .addr = info->addr,
                          .length = info->length};
    return true;
}

/* Type 1: its next key is the device's to choose (ibv_bind_mw(3)). */
int plugin_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
    assert(qp && mw && bind);
    const unsigned known = IBV_SEND_FENCE | IBV_SEND_SIGNALED;
    struct hca_send_wr request = {.wr_id = bind->wr_id, .flags = bind->send_flags};
    uint32_t rkey = ibv_inc_rkey(mw->rkey);
    if ((bind->send_flags & ~known) ||
        !plugin_bind_of(mw, IBV_MW_TYPE_1, rkey, &bind->bind_info, &request))
        return EINVAL;
    int error = plugin_post_all((struct plugin_qp *)qp, &request, 1, sizeof(request));
    if (!error)
        mw->rkey = rkey;
    return error;
}
