/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One end of RC connections, worked by the line, for ci/show/statuses, kills and scale:
 *
 *     verbs_peer [-n QPS] [-m MTU] [-k PKEY-INDEX] [-g]        (-g: with a GRH)
 *
 * Says "peer LID GID RKEY ADDRESS QPN..." and then answers each line of standard input:
 *
 *     connect LID GID RKEY ADDRESS QPN...    "connected", or "refused RTR: ERROR"
 *     write BYTES                            an RDMA WRITE on every queue pair; then "done STATUS
 * N" for each status, or "gone ERROR" when polling fails
 *
 * until its input ends. Nothing in it waits longer than the device lets it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST 64 /* queue pairs */
#define MEMORY (1u << 20)
#define TIMEOUT 10 /* 4 ms and no more than four times that, */
#define RETRIES 2  /* so many times over */
#define STATUSES 32

struct peer {
    struct ibv_context *device;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_mr *mr;
    struct ibv_qp *qps[MOST];
    char *memory;
    int count, pkey_index;
    enum ibv_mtu mtu;
    bool grh;
    unsigned long long address; /* of the other end */
    unsigned rkey;
};

static void die(const char *what)
{
    fprintf(stderr, "verbs_peer: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void must(const void *made, const char *what)
{
    if (!made)
        die(what);
}

static void make_queue_pair(struct peer *p, int i)
{
    struct ibv_qp_init_attr init = {
        .send_cq = p->cq,
        .recv_cq = p->cq,
        .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = 4, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
                               .pkey_index = (uint16_t)p->pkey_index,
                               .port_num = 1,
                               .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
    p->qps[i] = ibv_create_qp(p->pd, &init);
    must(p->qps[i], "ibv_create_qp");
    errno = ibv_modify_qp(p->qps[i], &attr,
                          IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    if (errno)
        die("INIT");
}

static void make_all(struct peer *p)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    if (!list || !list[0])
        die("there is no device");
    p->device = ibv_open_device(list[0]);
    must(p->device, "ibv_open_device");
    ibv_free_device_list(list);
    p->memory = aligned_alloc(4096, MEMORY);
    must(p->memory, "memory");
    memset(p->memory, 0, MEMORY);
    p->pd = ibv_alloc_pd(p->device);
    must(p->pd, "ibv_alloc_pd");
    p->mr = ibv_reg_mr(p->pd, p->memory, MEMORY, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    must(p->mr, "ibv_reg_mr");
    p->cq = ibv_create_cq(p->device, 4 * MOST, NULL, NULL, 0);
    must(p->cq, "ibv_create_cq");
    for (int i = 0; i < p->count; i++)
        make_queue_pair(p, i);
}

static void introduce(const struct peer *p)
{
    struct ibv_port_attr port;
    union ibv_gid gid;
    char text[INET6_ADDRSTRLEN];
    if (ibv_query_port(p->device, 1, &port) || ibv_query_gid(p->device, 1, 0, &gid))
        die("the port");
    inet_ntop(AF_INET6, gid.raw, text, sizeof(text));
    printf("peer %u %s %u %llu", port.lid, text, p->mr->rkey,
           (unsigned long long)(uintptr_t)p->memory);
    for (int i = 0; i < p->count; i++)
        printf(" %u", p->qps[i]->qp_num);
    putchar('\n');
}

/* ------------------------------------------------------------------ connect */

static int to_rts(const struct peer *p, struct ibv_qp *qp, struct ibv_ah_attr *path, unsigned qpn)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR,
                               .path_mtu = p->mtu,
                               .dest_qp_num = qpn,
                               .max_dest_rd_atomic = 1,
                               .min_rnr_timer = 12,
                               .ah_attr = *path,
                               .timeout = TIMEOUT,
                               .retry_cnt = RETRIES,
                               .rnr_retry = RETRIES,
                               .max_rd_atomic = 1};
    int error = ibv_modify_qp(qp, &attr,
                              IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    attr.qp_state = IBV_QPS_RTS;
    return error ? error
                 : ibv_modify_qp(qp, &attr,
                                 IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static void connect_to(struct peer *p, char *words)
{
    struct ibv_ah_attr path = {.port_num = 1, .is_global = p->grh, .grh = {.hop_limit = 1}};
    const char *lid = strtok(words, " "), *gid = strtok(NULL, " "), *rkey = strtok(NULL, " ");
    const char *address = strtok(NULL, " ");
    if (!address || inet_pton(AF_INET6, gid, path.grh.dgid.raw) != 1) {
        printf("refused words\n");
        return;
    }
    path.dlid = (uint16_t)strtoul(lid, NULL, 10);
    p->rkey = (unsigned)strtoul(rkey, NULL, 10);
    p->address = strtoull(address, NULL, 10);
    for (int i = 0; i < p->count; i++) {
        const char *qpn = strtok(NULL, " ");
        int error = qpn ? to_rts(p, p->qps[i], &path, (unsigned)strtoul(qpn, NULL, 10)) : EINVAL;
        if (error) {
            printf("refused RTR: %s\n", strerror(error));
            return;
        }
    }
    printf("connected\n");
}

/* ------------------------------------------------------------------ write */

static int post(struct peer *p, int i, unsigned length)
{
    struct ibv_sge sge = {(uint64_t)(uintptr_t)p->memory, length, p->mr->lkey};
    struct ibv_send_wr *bad, wr = {.wr_id = (uint64_t)i,
                                   .sg_list = &sge,
                                   .num_sge = 1,
                                   .opcode = IBV_WR_RDMA_WRITE,
                                   .send_flags = IBV_SEND_SIGNALED,
                                   .wr.rdma = {p->address, p->rkey}};
    return ibv_post_send(p->qps[i], &wr, &bad);
}

static void write_all(struct peer *p, unsigned length)
{
    int counts[STATUSES] = {0}, waiting = 0;
    struct ibv_wc wc;
    for (int i = 0; i < p->count; i++) {
        int error = post(p, i, length < MEMORY ? length : MEMORY);
        if (error) {
            printf("gone %s\n", strerror(error));
            return;
        }
        waiting++;
    }
    while (waiting > 0) {
        int polled = ibv_poll_cq(p->cq, 1, &wc);
        if (polled < 0) {
            printf("gone polling\n");
            return;
        }
        waiting -= polled;
        if (polled > 0 && wc.status < STATUSES)
            counts[wc.status]++;
    }
    for (int i = 0; i < STATUSES; i++) {
        if (counts[i])
            printf("done %d %d\n", i, counts[i]);
    }
    printf("end\n");
}

/* ------------------------------------------------------------------ */

static void read_options(struct peer *p, int argc, char **argv)
{
    for (int option; (option = getopt(argc, argv, "n:m:k:g")) != -1;) {
        long value = optarg ? strtol(optarg, NULL, 10) : 0;
        if (option == 'n' && value >= 1 && value <= MOST)
            p->count = (int)value;
        else if (option == 'm' && value >= 256)
            p->mtu = value >= 4096   ? IBV_MTU_4096
                     : value >= 2048 ? IBV_MTU_2048
                     : value >= 1024 ? IBV_MTU_1024
                     : value >= 512  ? IBV_MTU_512
                                     : IBV_MTU_256;
        else if (option == 'k' && value >= 0)
            p->pkey_index = (int)value;
        else if (option == 'g')
            p->grh = true;
        else {
            fprintf(stderr, "verbs_peer: see the head of tests/show/verbs_peer.c\n");
            exit(2);
        }
    }
}

int main(int argc, char **argv)
{
    struct peer p = {.count = 1, .mtu = IBV_MTU_4096};
    static char line[4096];
    read_options(&p, argc, argv);
    setvbuf(stdout, NULL, _IOLBF, 0);
    make_all(&p);
    introduce(&p);
    while (fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "connect ", 8) == 0)
            connect_to(&p, line + 8);
        else if (strncmp(line, "write ", 6) == 0)
            write_all(&p, (unsigned)strtoul(line + 6, NULL, 10));
        else
            printf("refused words\n");
    }
    return 0;
}
