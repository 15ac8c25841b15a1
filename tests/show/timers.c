/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time-outs and retries of the simulated HCA in virtual time, measured against bounds computed
 * from the specification: prints one line a case and a verdict last, ends with 1 when one is out.
 */
#include <inttypes.h>
#include <stdio.h>

#include "tests/support/hca_world.h"

#define SEEDS 50
#define SLACK 20000 /* ns: packets under way */
#define NEVER UINT64_MAX

struct measured {
    uint64_t least, most;
};

static uint64_t t_of(unsigned code)
{
    return UINT64_C(4096) << code;
}

/* Time until the completion with `status`; NEVER without one in `limit` ns; 1 for another. */
static uint64_t time_to(struct hca_pair *p, enum hca_wr_opcode opcode, int status, uint64_t limit)
{
    uint64_t begin = sim_now(p->w->sim);
    int got = hca_pair_status(p, opcode, 64, limit);
    if (got < 0)
        return NEVER;
    return got == status ? sim_now(p->w->sim) - begin : 1;
}

static struct measured unanswered(uint8_t timeout, uint8_t retry_cnt, uint64_t limit)
{
    struct measured m = {NEVER, 0};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct hca_pair p = hca_pair_make(NULL, 0, seed);
        p.a.timeout = timeout;
        p.a.retry_cnt = retry_cnt;
        hca_pair_connect(&p);
        net_link_set_cut(net_node_port(p.w->host[1].node, 1), true);
        uint64_t took = time_to(&p, HCA_WR_RDMA_WRITE, FABRIC_WC_RETRY_EXC_ERR, limit);
        m.least = took < m.least ? took : m.least;
        m.most = took > m.most ? took : m.most;
        hca_world_destroy(p.w);
    }
    return m;
}

static struct measured no_receive(uint8_t code, uint8_t rnr_retry, uint64_t limit)
{
    struct hca_pair p = hca_pair_make(NULL, 0, 1);
    p.a.rnr_retry = rnr_retry;
    p.b.min_rnr_timer = code;
    hca_pair_connect(&p);
    uint64_t took = time_to(&p, HCA_WR_SEND, FABRIC_WC_RNR_RETRY_EXC_ERR, limit);
    hca_world_destroy(p.w);
    return (struct measured){took, took};
}

static int failures;

static void judge(const char *what, struct measured m, uint64_t low, uint64_t high)
{
    bool good = low == NEVER ? m.least == NEVER : m.least >= low && m.most <= high;
    failures += !good;
    if (low == NEVER)
        printf("%-4s %-26s never: %s\n", good ? "ok" : "OUT", what, good ? "yes" : "no");
    else
        printf("%-4s %-26s %.3f to %.3f ms in [%.3f, %.3f]\n", good ? "ok" : "OUT", what,
               (double)m.least / 1e6, (double)m.most / 1e6, (double)low / 1e6, (double)high / 1e6);
}

int main(void)
{
    const uint64_t t = t_of(14), floor = t_of(hca_profile_find("mlx5")->ack_timeout_floor);
    struct measured detection = unanswered(14, 0, 1000 * SECOND);
    struct measured seven = unanswered(14, 7, 1000 * SECOND);
    struct measured rnr = no_receive(12, 3, SECOND);
    judge("[T, 4T], timeout 14", detection, t, 4 * t + SLACK);
    judge("retry 3", unanswered(14, 3, 1000 * SECOND), 4 * t, 16 * t + SLACK);
    judge("retry 7 is seven", seven, 8 * t, 32 * t + SLACK);
    judge("timeout 1 with floor", unanswered(1, 0, SECOND), floor, 4 * floor + SLACK);
    judge("timeout 0", unanswered(0, 0, 100000 * SECOND), NEVER, 0);
    judge("RNR, 0.64 ms, retry 3", rnr, 3 * 640000, 3 * 640000 + SLACK);
    judge("RNR, 655.36 ms, retry 1", no_receive(0, 1, 10 * SECOND), 655360000, 655360000 + SLACK);
    judge("rnr 7 is endless", no_receive(12, 7, 60 * SECOND), NEVER, 0);
    printf(
        "timers: %s; RETRY_EXC after %.2f to %.2f T, with retry 7 after %.1f to %.1f T, "
        "RNR_RETRY_EXC after %.3f of 1.920 ms, timeout 0 and rnr 7 never; %d of 8 out of bounds\n",
        failures ? "FAILED" : "PASSED", (double)detection.least / (double)t,
        (double)detection.most / (double)t, (double)seven.least / (double)t,
        (double)seven.most / (double)t, (double)rnr.least / 1e6, failures);
    return failures ? 1 : 0;
}
