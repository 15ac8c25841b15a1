/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/admin/admin.h"
#include "src/config/nearest.h"
#include "src/fabric/planted.h"

static const char *const paths[] = {"/v1/health", "/v1/ready", "/v1/status", "/v1/metrics"};
enum page { HEALTH, READY, STATUS, METRICS, PAGES };

const char *admin_health(const struct admin_snapshot *snapshot)
{
    const struct admin_snapshot *s = snapshot;
    assert(s && s->rail_count <= ADMIN_MAX_RAILS);
    if (s->is_draining || s->drives_online == 0)
        return "unhealthy";
    bool degraded = s->drives_offline > 0;
    for (size_t i = 0; i < s->rail_count; i++)
        degraded = degraded || (!s->rails[i].is_ready && !PLANTED(admin_rail_ignored));
    degraded = degraded || (s->rdma_configured && !s->rdma_active);
    return degraded ? "degraded" : "healthy";
}

static json_t *health(const struct admin_snapshot *s, uint32_t *status)
{
    const char *word = admin_health(s);
    assert(status && s->drives_online <= UINT32_MAX - s->drives_offline);
    bool unhealthy = strcmp(word, "unhealthy") == 0;
    *status = unhealthy && !PLANTED(admin_unhealthy_ok) ? 503 : 200;
    return json_pack("{s:s, s:b, s:I, s:I, s:I}", "status", word, "rdma_active",
                     (int)s->rdma_active, "drives_online", (json_int_t)s->drives_online,
                     "drives_offline", (json_int_t)s->drives_offline, "drives_total",
                     (json_int_t)s->drives_online + (json_int_t)s->drives_offline);
}

/* Ready to be sent work: a draining server lives, but takes none. */
static json_t *ready(const struct admin_snapshot *s, uint32_t *status)
{
    bool is_ready = !s->is_draining && s->drives_online > 0;
    *status = is_ready ? 200 : 503;
    return json_pack("{s:b, s:s}", "ready", (int)is_ready, "reason",
                     is_ready         ? "ok"
                     : s->is_draining ? "draining"
                                      : "media_failed");
}

static json_t *status_page(const struct admin_snapshot *s)
{
    json_t *page = s->status ? json_deep_copy(s->status) : json_object();
    json_object_del(page, "op");
    json_object_del(page, "ok");
    json_object_set_new(page, "version", json_string(s->version));
    json_object_set_new(page, "health", json_string(admin_health(s)));
    json_object_set_new(page, "uptime_seconds",
                        json_integer((json_int_t)(s->uptime / 1000000000u)));
    return page;
}

/* JSON is UTF-8, what a client sends need not be. */
static json_t *problem(const char *name, char *detail)
{
    assert(name && detail);
    for (char *c = detail; *c; c++)
        *c = (unsigned char)*c < 0x80 || PLANTED(admin_any_bytes) ? *c : '?';
    return json_pack("{s:s, s:s}", "error", name, "detail", detail);
}

static json_t *no_such_page(const char *path)
{
    char detail[256];
    assert(strlen(path) < 64);
    const char *near = nearest_name(path, paths, PAGES);
    if (near)
        snprintf(detail, sizeof detail, "no page '%s'; did you mean '%s'?", path, near);
    else
        snprintf(detail, sizeof detail,
                 "no page '%s'; there are /v1/health, /v1/ready, /v1/status and /v1/metrics", path);
    return problem("not_found", detail);
}

static json_t *no_such_method(const char *method, const char *path)
{
    char detail[256];
    snprintf(detail, sizeof detail, "%.16s of %s; GET and HEAD are served", method, path);
    return problem("not_supported", detail);
}

static bool put_json(json_t *page, bool pretty, struct admin_answer *out)
{
    out->type = "application/json";
    out->body = page ? json_dumps(page, pretty ? JSON_INDENT(2) : JSON_COMPACT) : NULL;
    out->length = out->body ? strlen(out->body) : 0;
    json_decref(page);
    return out->body != NULL;
}

static bool put_metrics(const struct admin_snapshot *s, struct admin_answer *out)
{
    out->type = "text/plain; version=0.0.4; charset=utf-8";
    out->body = admin_metrics(s);
    out->length = out->body ? strlen(out->body) : 0;
    return out->body != NULL;
}

bool admin_answer(const char *method, const char *path, const struct admin_snapshot *snapshot,
                  struct admin_answer *out)
{
    char name[64];
    assert(method && path && snapshot && snapshot->version && out);
    size_t length = strcspn(path, "?"), page = 0;
    bool pretty = strstr(path + length, "pretty") != NULL;
    snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), path);
    while (page < PAGES && (length > 63 || strcmp(paths[page], name) != 0))
        page++;
    *out = (struct admin_answer){.status = 200};
    if (page == PAGES) {
        out->status = 404;
        return put_json(no_such_page(name), pretty, out);
    }
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
        out->status = 405;
        return put_json(no_such_method(method, name), pretty, out);
    }
    if (page == METRICS)
        return put_metrics(snapshot, out);
    if (page == STATUS)
        return put_json(status_page(snapshot), pretty, out);
    json_t *body = page == HEALTH ? health(snapshot, &out->status) : ready(snapshot, &out->status);
    return put_json(body, pretty, out);
}
