/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bench on a machine, shared by those with and without RDMA. Who uses it defines `machine`, and
 * bench_backend by MACHINE_BENCH.
 */
#ifndef TESTS_CONFORMANCE_MACHINE_BENCH_H
#define TESTS_CONFORMANCE_MACHINE_BENCH_H

#include "fabric_hw/os/os.h"
#include "tests/conformance/bench.h"

struct machine {
    /* options: completes the options of a node's instance; `folder` is its own, and empty but for
     * the one of its storage. */
    void (*options)(size_t node, char *folder, struct os_fabric_options *out);
    fabric_caps gives; /* what this machine can do beyond the guarantees of its fabric */
    /* inject: all but BENCH_KILL; null: nothing. mend: undoes what was injected; may be null. */
    bool (*inject)(size_t node, enum bench_word word);
    void (*mend)(void);
};

extern const struct machine machine;

struct bench *machine_create(const struct bench_setup *setup, char *reason);
void machine_destroy(struct bench *bench);
struct fabric *machine_fabric(struct bench *bench, size_t node);
void machine_adopt(struct bench *bench, size_t node, struct fabric *f);
const char *machine_address(struct bench *bench, size_t node);
const char *machine_folder(struct bench *bench, size_t node);
fabric_caps machine_caps(struct bench *bench);
bool machine_ask(struct bench *bench, size_t node, const char *where, const char *method,
                 const char *path, struct bench_answer *answer);
bool machine_advance(struct bench *bench, uint64_t deadline);
bool machine_inject(struct bench *bench, size_t node, enum bench_word word);

/* The members of bench_backend but for its name, its device and its driver. */
#define MACHINE_BENCH                                                                              \
    .create = machine_create, .destroy = machine_destroy, .fabric = machine_fabric,                \
    .adopt = machine_adopt, .address = machine_address, .folder = machine_folder,                  \
    .caps = machine_caps, .ask = machine_ask, .advance = machine_advance, .inject = machine_inject

#endif
