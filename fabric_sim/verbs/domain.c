/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protection domains, and what libibverbs puts above them. A parent domain stands for its
 * protection domain; its allocators are never called, as all queues lie in the arena of the device,
 * and its thread domain saves no lock, as there is one for the fabric.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "fabric_sim/verbs/plugin.h"
#include "src/fabric/planted.h"

struct ibv_pd *plugin_alloc_pd(struct ibv_context *context)
{
    assert(context);
    struct protocol_request request = client_request(PROTOCOL_ALLOC_PD);
    struct protocol_reply reply;
    struct plugin_pd *pd = calloc(1, sizeof(*pd));
    int error = pd ? plugin_call(context_of_plugin(context), &request, &reply, NULL) : ENOMEM;
    if (error) {
        free(pd);
        errno = error;
        return NULL;
    }
    pd->handle = pd->pd.handle = reply.u.made.handle;
    return &pd->pd;
}

int plugin_dealloc_pd(struct ibv_pd *pd)
{
    struct plugin_pd *of = (struct plugin_pd *)pd;
    if (of->users && !PLANTED(verbs_domain_of_a_parent))
        return EBUSY;
    if (of->of) {
        of->of->users--;
        if (of->td)
            of->td->users--;
        free(of);
        return 0;
    }
    int error = plugin_end(context_of_plugin(pd->context), PROTOCOL_DEALLOC_PD, of->handle);
    if (!error)
        free(of);
    return error;
}

struct ibv_pd *plugin_alloc_parent_domain(struct ibv_context *context,
                                          struct ibv_parent_domain_init_attr *attr)
{
    const uint32_t known =
        IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
    struct plugin_pd *of = (struct plugin_pd *)attr->pd;
    if (!of || of->of || (attr->comp_mask & ~known)) {
        errno = of && !of->of ? EOPNOTSUPP : EINVAL;
        return NULL;
    }
    struct plugin_pd *parent = calloc(1, sizeof(*parent));
    if (!parent) {
        errno = ENOMEM;
        return NULL;
    }
    parent->pd.context = context;
    parent->handle = parent->pd.handle = of->handle;
    parent->of = of;
    parent->td = (struct plugin_td *)attr->td;
    of->users++;
    if (parent->td)
        parent->td->users++;
    return &parent->pd;
}

struct ibv_td *plugin_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
    struct plugin_td *td = attr->comp_mask ? NULL : calloc(1, sizeof(*td));
    if (!td) {
        errno = attr->comp_mask ? EINVAL : ENOMEM;
        return NULL;
    }
    td->td.context = context;
    return &td->td;
}

int plugin_dealloc_td(struct ibv_td *td)
{
    struct plugin_td *of = (struct plugin_td *)td;
    assert(of);
    if (of->users)
        return EBUSY;
    free(of);
    return 0;
}
