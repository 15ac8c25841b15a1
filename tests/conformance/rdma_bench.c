/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bench on soft-RoCE: rxe_v0 to rxe_v3 on v0 to v3, cabled to one bridge, as ci/vm makes them.
 * Each node has one and sees no other. Devices of other drivers are for the lab.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "fabric_hw/rdma/calls.h"
#include "fabric_hw/rdma/rdma.h"
#include "tests/conformance/machine_bench.h"

static const char *const names[BENCH_NODES] = {"rxe_v0", "rxe_v1", "rxe_v2", "rxe_v3"};

/* The devices of this name alone, by what the library found. */
static struct ibv_device **only(const char *name, int *count)
{
    int all = 0;
    struct ibv_device **list = ibv_get_device_list(&all);
    *count = 0;
    for (int i = 0; list && i < all; i++) {
        struct ibv_device *one = list[i];
        if (strcmp(one->name, name) != 0)
            continue;
        list[i] = list[*count];
        list[(*count)++] = one;
    }
    return list;
}

#define ONLY(number)                                                                               \
    static struct ibv_device **only_##number(int *count)                                           \
    {                                                                                              \
        return only(names[number], count);                                                         \
    }
ONLY(0)
ONLY(1)
ONLY(2)
ONLY(3)

/* As on a device without windows. */
static bool regions_only(void)
{
    return getenv("CONFORMANCE_REGIONS") != NULL;
}

static void options(size_t node, char *folder, struct os_fabric_options *out)
{
    static struct ibv_device **(*const lists[BENCH_NODES])(int *) = {only_0, only_1, only_2,
                                                                     only_3};
    static struct verbs_calls calls[BENCH_NODES];
    static struct rdma_options chosen[BENCH_NODES];
    (void)folder;
    assert(node < BENCH_NODES);
    calls[node] = verbs_calls_real;
    calls[node].get_device_list = lists[node];
    chosen[node] = (struct rdma_options){.calls = &calls[node],
                                         .busy_poll = getenv("CONFORMANCE_BUSY") != NULL,
                                         .regions_only = regions_only()};
    out->part = &rdma_part;
    out->part_context = &chosen[node];
}

static const char *device(struct bench *bench, size_t node)
{
    (void)bench;
    return names[node];
}

static const char *driver(void)
{
    static char text[64];
    struct utsname system;
    int result = uname(&system);
    unsigned major = 0, minor = 0;
    assert(result == 0 && sscanf(system.release, "%u.%u", &major, &minor) == 2);
    snprintf(text, sizeof(text), "rxe %u.%u %s", major, minor,
             regions_only() ? "regions" : "windows");
    return text;
}

static bool injected; /* something that is not mended yet */

/* `what` v0 or v1 `how` */
static bool run(const char *what, size_t node, const char *how)
{
    char command[128];
    snprintf(command, sizeof(command), "%s v%u %s", what, (unsigned)node, how);
    return system(command) == 0;
}

/* Taking an interface down loses the route that was given by hand, as ci/lib/vm/rxe has it. */
static bool route(size_t node)
{
    return node != 1 || run("ip route replace 10.77.0.1/32 src 10.77.0.2 dev", node, "");
}

static bool inject(size_t node, enum bench_word word)
{
    injected = true;
    switch (word) {
    case BENCH_PORT_DOWN:
        return run("ip link set", node, "down");
    case BENCH_PORT_UP:
        return run("ip link set", node, "up") && route(node);
    case BENCH_MTU_1024:
        return run("ip link set", node, "mtu 1500");
    case BENCH_LOSE_ALL:
        return run("tc qdisc replace dev", node, "root netem loss 100%");
    default:
        return false;
    }
}

static void mend(void)
{
    for (size_t node = 0; node < BENCH_NODES && injected; node++) {
        bool mended = run("ip link set", node, "up mtu 4200") &&
                      run("tc qdisc replace dev", node, "root noqueue") && route(node);
        assert(mended);
    }
    injected = false;
}

const struct machine machine = {
    .options = options,
    .gives = FABRIC_CAP_EVENTS_RELIABLE | FABRIC_CAP_PORT_STATE | FABRIC_CAP_MTU_CHANGE |
             FABRIC_CAP_LOSS,
    .inject = inject,
    .mend = mend,
};
const struct bench_backend bench_backend = {
    .name = "rdma", .device = device, .driver = driver, MACHINE_BENCH};
