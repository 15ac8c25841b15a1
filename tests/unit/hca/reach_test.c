/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/hca_world.h"

#define OWNER 7
#define FAR UINT64_C(0x7f0000000000) /* no address of this process that the engine may touch */
#define FAR_LENGTH 65536u

/* A program elsewhere: its memory begins at FAR. */
struct program {
    uint8_t memory[FAR_LENGTH];
    bool dead;
    size_t reads, writes;
};

static bool far_read(void *context, uint32_t owner, uint64_t from, void *to, uint64_t length)
{
    struct program *program = context;
    assert_int_equal(owner, OWNER);
    assert_true(from >= FAR && from - FAR + length <= FAR_LENGTH);
    program->reads++;
    if (!program->dead)
        memcpy(to, program->memory + (from - FAR), length);
    return !program->dead;
}

static bool far_write(void *context, uint32_t owner, uint64_t to, const void *from, uint64_t length)
{
    struct program *program = context;
    assert_int_equal(owner, OWNER);
    assert_true(to >= FAR && to - FAR + length <= FAR_LENGTH);
    program->writes++;
    if (!program->dead)
        memcpy(program->memory + (to - FAR), from, length);
    return !program->dead;
}

struct bench {
    struct program program;
    struct hca_reach reach;
    struct hca_world *w;
    hca_qp qp[2];
    hca_mr mr;
    uint32_t key; /* of all of the program's memory, at host 1 */
};

static void bench_make(struct bench *b)
{
    memset(b, 0, sizeof(*b));
    b->reach = (struct hca_reach){&b->program, far_read, far_write};
    const struct hca_world_init init = {.seed = 3, .reach = &b->reach};
    b->w = hca_world_create(&init);
    struct hca_qp_attr a = hca_world_attr(b->w, 0, 1), back = hca_world_attr(b->w, 1, 0);
    a.retry_cnt = back.retry_cnt = 1;
    hca_world_connect(b->w, &a, &back, b->qp);
    struct hca_host *host = &b->w->host[1];
    assert_int_equal(hca_mr_register(host->hca, host->pd, (void *)(uintptr_t)FAR, FAR_LENGTH, 0,
                                     HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_WRITE |
                                         HCA_ACCESS_REMOTE_READ | HCA_ACCESS_REMOTE_ATOMIC,
                                     0, &b->mr, &b->key),
                     FABRIC_OK);
    hca_mr_give(host->hca, b->mr, OWNER);
}

/* What host 0 sees of a request on `length` bytes of the program's memory, at 4096. */
static int status_of(struct bench *b, enum hca_wr_opcode opcode, uint32_t length)
{
    size_t before = b->w->host[0].wc_count;
    struct hca_sge sge = hca_world_sge(b->w, 0, 0, length);
    struct hca_send_wr wr = hca_world_wr(opcode, &sge);
    wr.remote_addr = 4096;
    wr.rkey = b->key;
    wr.compare_add = 5;
    assert_int_equal(hca_post_send(b->w->host[0].hca, b->qp[0], &wr), FABRIC_OK);
    assert_true(hca_world_wait(b->w, 0, before + 1, 100 * SECOND));
    return b->w->host[0].wcs[before].status;
}

static void a_peer_writes_and_reads_the_memory_of_another_program(void **state)
{
    (void)state;
    struct bench b;
    bench_make(&b);
    hca_world_fill(b.w, 0, 0, 20000, 0x5a);
    assert_int_equal(status_of(&b, HCA_WR_RDMA_WRITE, 20000), FABRIC_WC_SUCCESS);
    assert_memory_equal(b.program.memory + 4096, b.w->host[0].memory, 20000);
    b.program.memory[4096] = 9;
    memset(b.w->host[0].memory, 0, 20000);
    assert_int_equal(status_of(&b, HCA_WR_RDMA_READ, 20000), FABRIC_WC_SUCCESS);
    assert_memory_equal(b.w->host[0].memory, b.program.memory + 4096, 20000);
    assert_int_equal(b.program.reads, 1); /* of a message at once */
    hca_world_destroy(b.w);
}

static void an_atomic_reaches_the_memory_of_another_program(void **state)
{
    (void)state;
    struct bench b;
    bench_make(&b);
    uint64_t value = 37;
    memcpy(b.program.memory + 4096, &value, sizeof(value));
    assert_int_equal(status_of(&b, HCA_WR_ATOMIC_FETCH_AND_ADD, 8), FABRIC_WC_SUCCESS);
    memcpy(&value, b.program.memory + 4096, sizeof(value));
    assert_int_equal(value, 42);
    memcpy(&value, b.w->host[0].memory, sizeof(value));
    assert_int_equal(value, 37);
    hca_world_destroy(b.w);
}

static void a_program_sends_from_its_own_memory(void **state)
{
    (void)state;
    struct bench b;
    bench_make(&b);
    for (uint32_t i = 0; i < 5000; i++)
        b.program.memory[i] = (uint8_t)(i * 7);
    assert_int_equal(hca_world_recv(b.w, 0, b.qp[0], 0, 8192, 1), FABRIC_OK);
    struct hca_sge sges[2] = {{0, 3000, b.key}, {3000, 2000, b.key}};
    struct hca_send_wr wr = {.opcode = HCA_WR_SEND, .sges = sges, .sge_count = 2};
    assert_int_equal(hca_post_send(b.w->host[1].hca, b.qp[1], &wr), FABRIC_OK);
    assert_true(hca_world_wait(b.w, 0, 1, SECOND));
    assert_int_equal(b.w->host[0].wcs[0].byte_len, 5000);
    assert_memory_equal(b.w->host[0].memory, b.program.memory, 5000);
    hca_world_destroy(b.w);
}

static void what_is_out_of_reach_is_never_answered(void **state)
{
    (void)state;
    const struct {
        enum hca_wr_opcode opcode;
        uint32_t length;
    } cases[] = {
        {HCA_WR_RDMA_WRITE, 9000}, {HCA_WR_RDMA_READ, 9000}, {HCA_WR_ATOMIC_FETCH_AND_ADD, 8}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bench b;
        bench_make(&b);
        b.program.dead = true;
        assert_int_equal(status_of(&b, cases[i].opcode, cases[i].length), FABRIC_WC_RETRY_EXC_ERR);
        assert_true(b.program.reads + b.program.writes > 0);
        hca_world_destroy(b.w);
    }
}

static void a_send_from_memory_out_of_reach_fails_at_its_program(void **state)
{
    (void)state;
    struct bench b;
    bench_make(&b);
    b.program.dead = true;
    struct hca_sge sge = {0, 3000, b.key};
    struct hca_send_wr wr = hca_world_wr(HCA_WR_SEND, &sge);
    assert_int_equal(hca_post_send(b.w->host[1].hca, b.qp[1], &wr), FABRIC_OK);
    assert_true(hca_world_wait(b.w, 1, 1, SECOND));
    assert_int_equal(b.w->host[1].wcs[0].status, FABRIC_WC_LOC_PROT_ERR);
    hca_world_destroy(b.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_peer_writes_and_reads_the_memory_of_another_program),
        cmocka_unit_test(an_atomic_reaches_the_memory_of_another_program),
        cmocka_unit_test(a_program_sends_from_its_own_memory),
        cmocka_unit_test(what_is_out_of_reach_is_never_answered),
        cmocka_unit_test(a_send_from_memory_out_of_reach_fails_at_its_program)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
