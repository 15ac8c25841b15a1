/* SPDX-License-Identifier: Apache-2.0 */
/* One of the two worlds of twin.h; for twin*.c only. */
#ifndef TESTS_SUPPORT_TWIN_PLAY_H
#define TESTS_SUPPORT_TWIN_PLAY_H

#include "tests/support/hca_world.h"
#include "tests/support/twin.h"

#define SIDE_HOSTS 2
#define SIDE_KEYS 5
#define SIDE_MEMORY 8192 /* bytes of each host that sequences work on */

struct side_end { /* one end of the pair under test */
    int host;
    hca_qp qp;
    hca_cq send_cq, recv_cq;
    hca_srq srq;
    hca_mr extra[SIDE_KEYS]; /* regions: as it may, read only, another domain's, to be closed */
    uint32_t keys[SIDE_KEYS];
    hca_mw window;
    uint32_t window_key;
    bool window_open, extra_open;
    hca_mw bound[2]; /* of type 1 and 2, bound by requests */
    uint32_t bound_keys[2];
    hca_pd other_pd;
    hca_ah ah;
    struct hca_qp_attr attr;
};

struct side {
    struct hca_world *w;
    bool messages;
    uint64_t draws; /* state of the generator of the sequence */
    enum hca_qp_type type;
    bool single; /* one request at a time */
    bool exact;  /* and so their packets can be counted */
    bool parted; /* the PSNs of the two ends do not agree: what comes together would be chance */
    bool shared_cq, loops;
    struct side_end ends[2];
    uint32_t told[SIDE_HOSTS]; /* events of armed CQs */
    struct fabric_port_counters before[SIDE_HOSTS];
    uint64_t next_id, posted;
    uint64_t statuses[FABRIC_WC_STATUS_COUNT];
    char text[TWIN_TEXT];
    size_t length;
};

void side_create(struct side *side, uint64_t seed, bool messages);
void side_destroy(struct side *side);
void side_play(struct side *side, uint64_t sequence);

/* ---- twin_pair.c: the pair, its regions, and its end */
void pair_make(struct side *side);
void pair_end(struct side *side);
void pair_bring_up(struct side *side, int end);

/* ---- twin_post.c */
void step_sends(struct side *side, int from);
void step_receives(struct side *side, int end);
void step_binds(struct side *side, int end);

/* Below `limit`; alike in both worlds. */
uint32_t side_draw(struct side *side, uint32_t limit);
bool side_chance(struct side *side, uint32_t percent);
__attribute__((format(printf, 2, 3))) void side_note(struct side *side, const char *format, ...);

#endif
