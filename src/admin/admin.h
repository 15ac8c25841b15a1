/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pages of the HTTP end point (MK-I3): what was asked and what the server is like go in, an
 * answer comes out. Nothing here knows a socket, a time or the server.
 *
 * pages.c    which page, methods, health, readiness, status
 * metrics.c  the page for Prometheus
 */
#ifndef SRC_ADMIN_ADMIN_H
#define SRC_ADMIN_ADMIN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADMIN_MAX_RAILS 8
#define ADMIN_MAX_REASONS 64

enum admin_transport {
    ADMIN_OVER_RDMA,
    ADMIN_OVER_TCP,
    ADMIN_TRANSPORTS,
};

struct admin_rail {
    const char *name; /* "mlx5_0:1": device and port */
    bool is_ready;
    const char *reason;               /* error name; "ok" when ready */
    uint64_t read_bytes, write_bytes; /* moved over it: GETs and PUTs */
    uint64_t pkey_violations;
    uint32_t dc_initiators, dc_held, dc_waiting; /* there; granted to a link; links that wait */
};

/* What DC initiators went through. */
struct admin_dc {
    uint64_t recoveries; /* from the error state */
    uint64_t taken_back; /* from targets that did not answer while others waited */
    uint64_t flushed;    /* posts that were made again, because nobody was to blame */
    uint64_t proofs;     /* targets that were asked for a sign of life */
};

/* How often something happened for one named reason. */
struct admin_reason {
    const char *reason; /* error name */
    uint64_t count;
};

/* What the server is like at this moment. Strings live until the answer is made. A PUT is a write
 * and a GET is a read, as seen by the store. */
struct admin_snapshot {
    const char *version;
    uint64_t uptime; /* ns */
    bool is_draining;
    bool rdma_configured, rdma_active;
    uint32_t drives_online, drives_offline; /* media of the store; memory counts as one */

    uint64_t blocks, storage_usable, storage_used; /* number, bytes, bytes */
    uint64_t evictions, store_refusals;
    uint64_t reads[ADMIN_TRANSPORTS], writes[ADMIN_TRANSPORTS];
    uint64_t read_bytes[ADMIN_TRANSPORTS], write_bytes[ADMIN_TRANSPORTS];
    uint32_t connections, transfers; /* open now */
    uint32_t links_rc, links_dc;     /* up now */
    struct admin_dc dc;
    uint64_t auth_failures, tag_mismatches, silent;

    size_t rail_count;
    struct admin_rail rails[ADMIN_MAX_RAILS];
    size_t refused_count; /* links over RDMA that were refused */
    struct admin_reason refused[ADMIN_MAX_REASONS];

    const json_t *status; /* what /v1/status tells besides; null: nothing */
};

struct admin_answer {
    uint32_t status; /* HTTP */
    const char *type;
    char *body; /* the caller frees it */
    size_t length;
};

/* Answers "GET" or "HEAD" of "/v1/..." (a query is allowed and ignored but for `pretty`): 200; 404
 * for other paths, naming the nearest; 405 for other methods; 503 where health and readiness say
 * so. False without memory. */
bool admin_answer(const char *method, const char *path, const struct admin_snapshot *snapshot,
                  struct admin_answer *out);

/* "healthy"; "degraded": it serves, but a rail that is configured does not, or a drive is offline;
 * "unhealthy": it cannot serve. */
const char *admin_health(const struct admin_snapshot *snapshot);

/* The text for Prometheus; null without memory. The caller frees it. */
char *admin_metrics(const struct admin_snapshot *snapshot);

#endif
