/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What verbs objects cost, for ci/show/bench-emulated: usage `verbs_cost QPS GIB`. Says "ready",
 * "qps SECONDS" and "regions SECONDS", each followed by a wait for a line of standard input, so
 * that the memory of others can be looked at in between. Exit 1 when something cannot be made.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define GIB ((size_t)1 << 30)

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool say(const char *what, double took)
{
    char line[16];
    printf("%s %.6f\n", what, took);
    fflush(stdout);
    return fgets(line, sizeof(line), stdin) != NULL;
}

static bool make_qps(struct ibv_pd *pd, struct ibv_cq *cq, int count)
{
    struct ibv_qp_init_attr attr = {
        .send_cq = cq,
        .recv_cq = cq,
        .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1}};
    for (int i = 0; i < count; i++)
        if (!ibv_create_qp(pd, &attr))
            return false;
    return true;
}

int main(int argc, char **argv)
{
    int qps = argc > 1 ? atoi(argv[1]) : 1000, gib = argc > 2 ? atoi(argv[2]) : 1;
    struct ibv_device **devices = ibv_get_device_list(NULL);
    struct ibv_context *device = devices && devices[0] ? ibv_open_device(devices[0]) : NULL;
    struct ibv_pd *pd = device ? ibv_alloc_pd(device) : NULL;
    struct ibv_cq *cq = pd ? ibv_create_cq(device, 1024, NULL, NULL, 0) : NULL;
    if (!cq || !say("ready", 0))
        return 1;
    double begin = seconds();
    if (!make_qps(pd, cq, qps) || !say("qps", seconds() - begin))
        return 1;
    for (int i = 0; i < gib; i++) {
        void *memory = mmap(NULL, GIB, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        begin = i ? begin : seconds();
        if (memory == MAP_FAILED || !ibv_reg_mr(pd, memory, GIB, IBV_ACCESS_LOCAL_WRITE))
            return 1;
    }
    return say("regions", seconds() - begin) ? 0 : 1;
}
