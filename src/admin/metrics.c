/* SPDX-License-Identifier: Apache-2.0 */
/* Prometheus text exposition format 0.0.4. Base units: seconds and bytes; counters end in _total.
 * Labels are transport, rail and reason: never a key of a block. */
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/admin/admin.h"
#include "src/fabric/planted.h"

struct page {
    char *data;
    size_t length, room;
    bool failed; /* no memory */
};

static void add(struct page *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct page *p, const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    int wrote = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    assert(wrote >= 0 && (size_t)wrote < sizeof line);
    size_t length = (size_t)wrote;
    if (p->length + length + 1 > p->room && !p->failed) {
        size_t room = p->room ? 2 * p->room : 8192;
        char *data = realloc(p->data, room);
        p->failed = data == NULL;
        if (data) {
            p->data = data;
            p->room = room;
        }
    }
    if (p->failed)
        return;
    memcpy(p->data + p->length, line, length + 1);
    p->length += length;
}

static void head(struct page *p, const char *name, const char *type, const char *help)
{
    add(p, "# HELP memkv_%s %s\n# TYPE memkv_%s %s\n", name, help, name, type);
}

static void one(struct page *p, const char *name, const char *type, const char *help,
                uint64_t value)
{
    head(p, name, type, help);
    add(p, "memkv_%s %" PRIu64 "\n", name, value);
}

static void by_transport(struct page *p, const char *name, const char *help,
                         const uint64_t values[ADMIN_TRANSPORTS])
{
    static const char *const names[] = {[ADMIN_OVER_RDMA] = "rdma", [ADMIN_OVER_TCP] = "tcp"};
    head(p, name, "counter", help);
    for (int i = 0; i < ADMIN_TRANSPORTS; i++)
        add(p, "memkv_%s{transport=\"%s\"} %" PRIu64 "\n", name, names[i], values[i]);
}

/* A label's value: backslash, quote and newline are written as the format demands. */
static void put_label(struct page *p, const char *text)
{
    for (; *text; text++) {
        if (*text == '\n')
            add(p, "\\n");
        else
            add(p, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    }
}

static void rail_line(struct page *p, const char *name, const char *rail, uint64_t value)
{
    add(p, "memkv_%s{rail=\"", name);
    put_label(p, rail);
    add(p, "\"} %" PRIu64 "\n", value);
}

static void rails(struct page *p, const struct admin_snapshot *s)
{
    assert(s->rail_count <= ADMIN_MAX_RAILS);
    if (s->rail_count == 0)
        return;
    head(p, "rail_ready", "gauge", "1: RDMA can serve over this device port.");
    for (size_t i = 0; i < s->rail_count; i++)
        rail_line(p, "rail_ready", s->rails[i].name, s->rails[i].is_ready);
    head(p, "rail_read_bytes_total", "counter", "Bytes of values sent to readers over a rail.");
    for (size_t i = 0; i < s->rail_count; i++)
        rail_line(p, "rail_read_bytes_total", s->rails[i].name, s->rails[i].read_bytes);
    head(p, "rail_write_bytes_total", "counter", "Bytes of values taken from writers over a rail.");
    for (size_t i = 0; i < s->rail_count; i++)
        rail_line(p, "rail_write_bytes_total", s->rails[i].name, s->rails[i].write_bytes);
    head(p, "rail_pkey_violations_total", "counter",
         "Packets with a foreign P_Key, as the port counts them.");
    for (size_t i = 0; i < s->rail_count; i++)
        rail_line(p, "rail_pkey_violations_total", s->rails[i].name, s->rails[i].pkey_violations);
}

static void dc(struct page *p, const struct admin_snapshot *s)
{
    head(p, "links", "gauge", "Connections over RDMA that are up, by transport.");
    add(p, "memkv_links{transport=\"rc\"} %" PRIu32 "\n", s->links_rc);
    add(p, "memkv_links{transport=\"dc\"} %" PRIu32 "\n",
        PLANTED(admin_dc_unsaid) ? 0 : s->links_dc);
    one(p, "dc_recoveries_total", "counter", "DC initiators brought back from the error state.",
        s->dc.recoveries);
    one(p, "dc_taken_back_total", "counter",
        "DC initiators taken from clients that did not answer while others waited.",
        s->dc.taken_back);
    one(p, "dc_flushed_total", "counter", "RDMA operations made again after a flush.",
        s->dc.flushed);
    one(p, "dc_proofs_total", "counter", "DC targets asked for a sign of life.", s->dc.proofs);
    if (s->rail_count == 0)
        return;
    head(p, "dc_initiators", "gauge", "DC initiators of a rail.");
    for (size_t i = 0; i < s->rail_count; i++)
        rail_line(p, "dc_initiators", s->rails[i].name, s->rails[i].dc_initiators);
    head(p, "dc_initiators_held", "gauge", "DC initiators that serve a client now.");
    for (size_t i = 0; i < s->rail_count; i++)
        rail_line(p, "dc_initiators_held", s->rails[i].name, s->rails[i].dc_held);
    head(p, "dc_waiting", "gauge", "Connections that wait for a DC initiator.");
    for (size_t i = 0; i < s->rail_count; i++)
        rail_line(p, "dc_waiting", s->rails[i].name, s->rails[i].dc_waiting);
}

static void refusals(struct page *p, const struct admin_snapshot *s)
{
    assert(s->refused_count <= ADMIN_MAX_REASONS);
    if (s->refused_count == 0)
        return;
    head(p, "links_refused_total", "counter", "Connections over RDMA that were refused, by error.");
    for (size_t i = 0; i < s->refused_count; i++)
        add(p, "memkv_links_refused_total{reason=\"%s\"} %" PRIu64 "\n", s->refused[i].reason,
            s->refused[i].count);
}

static void store(struct page *p, const struct admin_snapshot *s)
{
    /* Its name ends like a counter's, but it falls when blocks go: so it has no type. */
    one(p, PLANTED(admin_metric_name) ? "block_total" : "blocks_total", "untyped",
        "Blocks stored now; the same as memkv_blocks.", s->blocks);
    one(p, "blocks", "gauge", "Blocks stored now.", s->blocks);
    by_transport(p, "read_total", "Values sent to readers.", s->reads);
    by_transport(p, "read_bytes_total", "Bytes of values sent to readers.", s->read_bytes);
    by_transport(p, "write_total", "Values stored for writers.", s->writes);
    by_transport(p, "write_bytes_total", "Bytes of values stored for writers.", s->write_bytes);
    one(p, "storage_usable_bytes", "gauge", "Bytes that the store can hold.", s->storage_usable);
    one(p, "storage_used_bytes", "gauge", "Bytes that are taken, transfers under way included.",
        s->storage_used);
    one(p, "evictions_total", "counter", "Blocks evicted to make room.", s->evictions);
    one(p, "store_refusals_total", "counter", "Values refused because the store had no room.",
        s->store_refusals);
    one(p, "drives_online", "gauge", "Media of the store that work.", s->drives_online);
    one(p, "drives_offline", "gauge", "Media of the store that do not.", s->drives_offline);
}

char *admin_metrics(const struct admin_snapshot *snapshot)
{
    struct page p = {.data = NULL};
    const struct admin_snapshot *s = snapshot;
    assert(s && s->version);
    head(&p, "build_info", "gauge", "The version of the server; always 1.");
    add(&p, "memkv_build_info{version=\"%s\"} 1\n", s->version);
    one(&p, "uptime_seconds", "gauge", "Seconds since the server started.",
        s->uptime / 1000000000u);
    one(&p, "rdma_active", "gauge", "1: at least one rail serves.", s->rdma_active);
    one(&p, "draining", "gauge", "1: the server finishes its work and takes no more.",
        s->is_draining);
    store(&p, s);
    one(&p, "connections", "gauge", "Connections that are open.", s->connections);
    one(&p, "transfers", "gauge", "Values on their way.", s->transfers);
    one(&p, "auth_failures_total", "counter", "Peers that did not have the key.", s->auth_failures);
    one(&p, "tag_mismatches_total", "counter", "Values whose tag did not fit their bytes.",
        s->tag_mismatches);
    one(&p, "silent_connections_total", "counter", "Connections ended because the peer was silent.",
        s->silent);
    rails(&p, s);
    dc(&p, s);
    refusals(&p, s);
    if (!p.failed)
        return p.data;
    free(p.data);
    return NULL;
}
