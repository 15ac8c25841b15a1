/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/cli/bench.h"
#include "src/config/version.h"
#include "src/wire/gmac.h"

#define SECOND UINT64_C(1000000000)
#define MIB (UINT64_C(1) << 20)

static const char *const kind_names[BENCH_KINDS] = {
    [CLIENT_PUT] = "put", [CLIENT_GET] = "get", [CLIENT_EXISTS] = "exists"};

struct sum { /* of all threads */
    struct bench_result kinds[BENCH_KINDS], total;
    uint64_t took;                   /* ns: the longest of them */
    uint64_t rates[BENCH_KINDS + 1]; /* operations a second; the last: of all kinds */
    uint64_t byte_rates[BENCH_KINDS + 1];
    bool over[BENCH_WAYS], interrupted;
};

static void add_result(struct bench_result *to, const struct bench_result *from)
{
    histogram_merge(&to->latency, &from->latency);
    to->bytes += from->bytes;
    to->missed += from->missed;
    to->refused += from->refused;
}

/* What comes to a second; no product overflows before 2^64 ns. */
static uint64_t rate(uint64_t what, uint64_t took)
{
    const uint64_t us = took / 1000 ? took / 1000 : 1;
    assert(us <= UINT64_MAX / 1000000); /* the product below holds */
    return what / us * 1000000 + what % us * 1000000 / us;
}

/* Each thread has a time of its own; their rates add up. */
static void add_load(struct sum *sum, const struct bench_load *load)
{
    assert(sum && load);
    for (uint32_t i = 0; i < BENCH_KINDS; i++) {
        const struct bench_result *r = &load->results[i];
        add_result(&sum->kinds[i], r);
        add_result(&sum->total, r);
        const uint64_t ops = rate(r->latency.count, load->took), bytes = rate(r->bytes, load->took);
        sum->rates[i] += ops;
        sum->byte_rates[i] += bytes;
        sum->rates[BENCH_KINDS] += ops;
        sum->byte_rates[BENCH_KINDS] += bytes;
    }
    for (uint32_t i = 0; i < BENCH_WAYS; i++)
        sum->over[i] = sum->over[i] || load->over[i];
    sum->took = load->took > sum->took ? load->took : sum->took;
    sum->interrupted = sum->interrupted || load->interrupted;
}

static const char *transport_of(const struct sum *sum)
{
    const char *found = NULL;
    for (uint32_t i = 0; i < BENCH_WAYS; i++) {
        if (sum->over[i])
            found = found ? "mixed" : client_transport_name((enum client_transport)i);
    }
    return found ? found : "none";
}

/* ------------------------------------------------------------------ JSON */

static json_t *json_latency(const struct histogram *h)
{
    return json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "min", (json_int_t)h->least, "mean",
        (json_int_t)histogram_mean(h), "p50", (json_int_t)histogram_at(h, 500000), "p90",
        (json_int_t)histogram_at(h, 900000), "p99", (json_int_t)histogram_at(h, 990000), "p99.9",
        (json_int_t)histogram_at(h, 999000), "p99.99", (json_int_t)histogram_at(h, 999900), "max",
        (json_int_t)h->most);
}

static json_t *json_result(const struct bench_result *r, uint64_t ops, uint64_t bytes)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "count", (json_int_t)r->latency.count,
                     "bytes", (json_int_t)r->bytes, "missed", (json_int_t)r->missed, "refused",
                     (json_int_t)r->refused, "per_second", (json_int_t)ops, "bytes_per_second",
                     (json_int_t)bytes, "latency_ns", json_latency(&r->latency));
}

static json_t *json_names(const struct client_config *c, bool servers)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < (servers ? c->server_count : c->rdma.device_count); i++)
        json_array_append_new(list, net_string(servers ? c->servers[i] : c->rdma.devices[i].name));
    return list;
}

static json_t *json_client(const struct client_config *c)
{
    static const char *const transports[] = {"auto", "rdma", "tcp"};
    static const char *const verify[] = {"none", "full"};
    return json_pack("{s:o, s:o, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "servers",
                     json_names(c, true), "rdma_devices", json_names(c, false), "transport",
                     transports[c->transport], "verify", verify[c->verify], "num_connections",
                     (json_int_t)c->num_connections, "timeout_ns", (json_int_t)c->timeout, "mtu",
                     (json_int_t)c->rdma.mtu, "pkey_index", (json_int_t)c->rdma.pkey_index, "pkey",
                     (json_int_t)c->rdma.pkey, "gid_index", (json_int_t)c->rdma.gid_index,
                     "service_level", (json_int_t)c->rdma.service_level, "traffic_class",
                     (json_int_t)c->rdma.traffic_class);
}

static json_t *json_settings(const struct bench_plan *p, const struct client_config *c)
{
    json_t *all = json_pack("{s:s, s:I, s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:b}", "version",
                            MEMKV_VERSION, "size", (json_int_t)p->size, "depth",
                            (json_int_t)p->depth, "threads", (json_int_t)p->threads, "mix",
                            json_pack("{s:I, s:I, s:I}", "put", (json_int_t)p->mix[CLIENT_PUT],
                                      "get", (json_int_t)p->mix[CLIENT_GET], "exists",
                                      (json_int_t)p->mix[CLIENT_EXISTS]),
                            "keys", (json_int_t)p->keys, "warm_up_ns", (json_int_t)p->warm_up,
                            "duration_ns", (json_int_t)(p->count ? 0 : p->duration), "count",
                            (json_int_t)p->count, "seed", (json_int_t)p->seed, "keep", p->keep);
    assert(all);
    json_object_set_new(all, "tags_by", json_string(wire_gmac_library()));
    json_object_set_new(all, "client", json_client(c));
    return all;
}

static json_t *json_page(const struct bench_plan *p, const struct client_config *c,
                         const struct sum *sum)
{
    json_t *operations = json_object();
    for (uint32_t i = 0; i < BENCH_KINDS; i++) {
        if (p->mix[i])
            json_object_set_new(operations, kind_names[i],
                                json_result(&sum->kinds[i], sum->rates[i], sum->byte_rates[i]));
    }
    json_object_set_new(
        operations, "total",
        json_result(&sum->total, sum->rates[BENCH_KINDS], sum->byte_rates[BENCH_KINDS]));
    return json_pack("{s:b, s:s, s:b, s:s, s:I, s:o, s:o}", "ok", !sum->interrupted, "op", "bench",
                     "interrupted", sum->interrupted, "transport", transport_of(sum), "measured_ns",
                     (json_int_t)sum->took, "operations", operations, "settings",
                     json_settings(p, c));
}

/* ------------------------------------------------------------------ text */

static void print_time(struct cli *cli, uint64_t ns)
{
    cli_print(cli, " %7" PRIu64 ".%" PRIu64, ns / 1000, ns / 100 % 10);
}

static void print_row(struct cli *cli, const char *name, const struct bench_result *r, uint64_t ops,
                      uint64_t bytes)
{
    static const uint32_t shown[] = {500000, 900000, 990000, 999000};
    const struct histogram *h = &r->latency;
    cli_print(cli, "%-7s %10" PRIu64 " %9" PRIu64 " %7" PRIu64, name, h->count, ops, bytes / MIB);
    print_time(cli, histogram_mean(h));
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
        print_time(cli, histogram_at(h, shown[i]));
    print_time(cli, h->most);
    cli_print(cli, "\n");
    if (r->missed || r->refused)
        cli_print(cli, "        not found: %" PRIu64 ", refused for want of room: %" PRIu64 "\n",
                  r->missed, r->refused);
}

static void print_page(struct cli *cli, const struct bench_plan *p, const struct client_config *c,
                       const struct sum *sum)
{
    cli_print(cli,
              "%s: %" PRIu64 " thread%s, %" PRIu64 " under way on each, values of %" PRIu64
              " bytes, over %s, %" PRIu64 ".%" PRIu64 " s%s\n",
              c->servers[0], p->threads, p->threads == 1 ? "" : "s", p->depth, p->size,
              transport_of(sum), sum->took / SECOND, sum->took / (SECOND / 10) % 10,
              sum->interrupted ? " (interrupted)" : "");
    cli_print(cli, "%-7s %10s %9s %7s %9s %9s %9s %9s %9s %9s\n", "", "operations", "/s", "MiB/s",
              "mean us", "50 %", "90 %", "99 %", "99.9 %", "max");
    for (uint32_t i = 0; i < BENCH_KINDS; i++) {
        if (p->mix[i])
            print_row(cli, kind_names[i], &sum->kinds[i], sum->rates[i], sum->byte_rates[i]);
    }
}

void bench_report(struct cli *cli, const struct bench_plan *plan,
                  const struct client_config *config, const struct bench_load *loads)
{
    struct sum *sum = calloc(1, sizeof *sum);
    assert(cli && plan && config && loads && sum);
    for (uint64_t i = 0; i < plan->threads; i++)
        add_load(sum, &loads[i]);
    if (cli->arguments->json)
        cli_print_json(cli, json_page(plan, config, sum));
    else
        print_page(cli, plan, config, sum);
    free(sum);
}
