/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Up to four nodes on straight wires, for the state machines of server and client: streams that
 * split, one device with one port each, RDMA that arrives after a microsecond or ends in the status
 * that the addresses deserve. No switches, no subnet manager: tests set what a port has. It follows
 * the contract; what fabrics really do is the simulator's business.
 */
#ifndef TESTS_SUPPORT_SMALL_WORLD_H
#define TESTS_SUPPORT_SMALL_WORLD_H

#include "src/fabric/program.h"

#define SMALL_NODES 4
#define SMALL_PKEYS 8
#define SMALL_GIDS 4

struct small_world;

struct small_port { /* as the test sets it; small_event tells the program */
    struct fabric_port_attr attr;
    uint16_t pkeys[SMALL_PKEYS];
    struct fabric_gid_entry gids[SMALL_GIDS];
    bool gid_there[SMALL_GIDS];
    bool gone; /* the device does not answer */
    bool dc;   /* it has DC */
    uint8_t max_rd_atomic;
    struct fabric_dcb dcb;                /* of the interface `physical` */
    bool dcb_fails;                       /* the question is refused */
    struct fabric_port_counters counters; /* none present: it has none */
    uint64_t busy;                        /* so many packets are sent between two looks at them */
    const char *physical; /* the device's interface; null: the system files show none */
};

struct small_world *small_world_new(uint32_t nodes);
void small_world_free(struct small_world *w); /* stops every program */

/* Node n starts with LID n + 1, P_Key 0xffff, MTU 4096, prefix fe80::, ACTIVE, "10.0.0.<n+1>". */
struct small_port *small_port(struct small_world *w, uint32_t node);
struct fabric *small_fabric(struct small_world *w, uint32_t node);
void small_no_device(struct small_world *w, uint32_t node);
/* A wire between that discards longer packets; 0: none. */
void small_link_mtu(struct small_world *w, uint32_t bytes);
/* The same for what comes back to who READs, and for nothing else. */
void small_answer_mtu(struct small_world *w, uint32_t bytes);
/* Packets of a node are lost from now on. */
void small_cut(struct small_world *w, uint32_t node, bool cut);
/* RDMA takes so long from now on, ns; and then so long until it is told. */
void small_delay(struct small_world *w, uint64_t ns);
void small_completion_delay(struct small_world *w, uint64_t ns);
/* Streams take and give so many bytes at a time from now on; at first 3,000 and 700. */
void small_chunk(struct small_world *w, size_t bytes);
/* So many of the next RDMA operations deliver a wrong byte. */
void small_corrupt(struct small_world *w, uint32_t operations);
void small_file(struct small_world *w, uint32_t node, const char *path, const void *data,
                size_t length);
const void *small_file_data(struct small_world *w, uint32_t node, const char *path, size_t *length);
/* The nth call of an operation on that node fails from now on (1: the next), `repeat` times. */
void small_fail(struct small_world *w, uint32_t node, enum fabric_op op, uint32_t nth,
                uint32_t repeat, enum fabric_error error);

enum fabric_error small_start(struct small_world *w, uint32_t node,
                              const struct fabric_program *program, const char *config);
/* The same with a configuration that is no text. */
enum fabric_error small_start_with(struct small_world *w, uint32_t node,
                                   const struct fabric_program *program, const char *config,
                                   size_t length, void **state);
void small_stop(struct small_world *w, uint32_t node);
/* Where the reports of the program go that is started next; null: the world keeps them. */
void small_sink(struct small_world *w, uint32_t node, const struct fabric_report_sink *sink);
void small_command(struct small_world *w, uint32_t node, const char *json);
/* Look-ups from now on take `delay` ns and end in `error`. */
void small_resolve(struct small_world *w, uint64_t delay, enum fabric_error error);
/* Windows opened from now on take `delay` ns and end in `error`. */
void small_lend(struct small_world *w, uint64_t delay, enum fabric_error error);
void small_async(struct small_world *w, uint32_t node, enum fabric_async_type type, uint8_t port);
/* An event of the node's queue pair that has been open longest. */
void small_pair_async(struct small_world *w, uint32_t node, enum fabric_async_type type);
/* Every stream of the node is reset. */
void small_reset_streams(struct small_world *w, uint32_t node);

/* Asks the HTTP end point of a node, which answers at once: status and body (good until the next).
 * 0: nobody listens. */
uint32_t small_http(struct small_world *w, uint32_t node, const char *method, const char *path,
                    const char **body);

/* Goes on until the node has reported a line with `text` in it, which is returned; null after
 * `within` ns. Reports before the previous hit on that node do not count. */
const char *small_until(struct small_world *w, uint32_t node, const char *text, uint64_t within);
/* Goes on for so long. */
void small_run(struct small_world *w, uint64_t ns);
/* How many log lines so far hold `text`. */
uint32_t small_logged(const struct small_world *w, uint32_t node, const char *text);
uint64_t small_now(const struct small_world *w);
/* Where the nth (from 0) region that is registered lies for peers; 0 when there are not so many. */
uint64_t small_iova(const struct small_world *w, uint32_t node, uint32_t nth);
/* FABRIC_ACCESS_ rights that the open windows of a node give, all together. */
uint32_t small_rights(const struct small_world *w, uint32_t node);
/* The device refuses to register memory that begins there for writing. */
void small_read_only(struct small_world *w, uint32_t node, const void *memory);
/* How many "qp", "srq", "ah", "window" or "stream" of a node are open. */
uint32_t small_open(const struct small_world *w, uint32_t node, const char *what);

#endif
