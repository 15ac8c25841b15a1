/* SPDX-License-Identifier: Apache-2.0 */
/* simfabric status and inspect: what the fabric tells of itself, as lines or as JSON. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fabric_sim/simfabric/client.h"
#include "fabric_sim/simfabric/control.h"
#include "programs/simfabric/report.h"
#include "src/config/nearest.h"
#include "src/net/output.h"

const char *report_text(const json_t *of, const char *name)
{
    const char *text = json_string_value(json_object_get(of, name));
    return text ? text : "";
}

long long report_number(const json_t *of, const char *name)
{
    return (long long)json_integer_value(json_object_get(of, name));
}

int report_fail(const struct words *words, enum fabric_error error, int status, const char *format,
                ...)
{
    char detail[512];
    va_list values;
    va_start(values, format);
    vsnprintf(detail, sizeof(detail), format, values);
    va_end(values);
    if (words->json) {
        json_t *object = net_error_object(error, detail, NULL);
        json_object_set_new(object, "exit", json_integer(status));
        json_t *all = json_pack("{s:b, s:o}", "ok", 0, "error", object);
        json_dumpf(all, stdout, words->pretty ? JSON_INDENT(2) : JSON_COMPACT);
        putchar('\n');
        json_decref(all);
    } else {
        simfabric_complain(error, "%s", detail);
    }
    return status;
}

json_t *report_read(const struct instance *instance, const struct words *words, int *status)
{
    char detail[TESTBED_DETAIL];
    json_error_t wrong;
    *status = SIMFABRIC_DONE;
    int socket = client_connect(instance->socket);
    if (socket < 0) {
        *status = report_fail(words, ERR_UNREACHABLE, SIMFABRIC_UNREACHABLE,
                              "fabric '%s' is not up (%s: %s)", instance->name, instance->socket,
                              strerror(errno));
        return NULL;
    }
    char *text = control_inspect(socket, detail);
    json_t *all = text ? json_loads(text, 0, &wrong) : NULL;
    close(socket);
    free(text);
    if (!text)
        *status = report_fail(words, ERR_UNREACHABLE, SIMFABRIC_UNREACHABLE, "fabric '%s': %s",
                              instance->name, detail);
    else if (!all)
        *status = report_fail(words, ERR_INTERNAL, SIMFABRIC_INTERNAL, "fabric '%s': %s",
                              instance->name, wrong.text);
    return all;
}

static int print_json(json_t *all, const struct words *words)
{
    size_t flags = words->pretty ? JSON_INDENT(2) : JSON_COMPACT;
    int failed = json_dumpf(all, stdout, flags | JSON_PRESERVE_ORDER);
    putchar('\n');
    return failed ? SIMFABRIC_INTERNAL : SIMFABRIC_DONE;
}

/* ------------------------------------------------------------------ status */

static long long objects_of(const json_t *device)
{
    size_t i;
    json_t *one;
    long long count = 0;
    json_array_foreach(json_object_get(device, "programs"), i, one) count +=
        report_number(one, "objects");
    return count;
}

static json_t *port_line(const json_t *device, const json_t *port)
{
    bool removed = json_is_true(json_object_get(device, "removed"));
    return json_pack("{s:s, s:s, s:I, s:s, s:I, s:I, s:I}", "node", report_text(device, "node"),
                     "device", report_text(device, "device"), "port",
                     (json_int_t)report_number(port, "port"), "state",
                     removed ? "removed" : report_text(port, "state"), "lid",
                     (json_int_t)report_number(port, "lid"), "opened",
                     (json_int_t)json_array_size(json_object_get(device, "programs")), "objects",
                     (json_int_t)objects_of(device));
}

static json_t *port_lines(const json_t *all)
{
    size_t i, j;
    json_t *device, *port, *lines = json_array();
    json_array_foreach(json_object_get(all, "devices"), i, device)
    {
        json_array_foreach(json_object_get(device, "ports"), j, port)
            json_array_append_new(lines, port_line(device, port));
    }
    return lines;
}

int words_status(const struct instance *instance, const struct words *words)
{
    size_t i;
    int status;
    json_t *line, *all = report_read(instance, words, &status);
    if (!all)
        return status;
    json_t *lines = port_lines(all);
    if (words->json) {
        json_t *out = json_pack("{s:s, s:O}", "name", instance->name, "ports", lines);
        status = print_json(out, words);
        json_decref(out);
    } else {
        json_array_foreach(lines, i, line) printf(
            "%-12s %s/%lld %-7s lid %lld opened %lld objects %lld\n", report_text(line, "node"),
            report_text(line, "device"), report_number(line, "port"), report_text(line, "state"),
            report_number(line, "lid"), report_number(line, "opened"),
            report_number(line, "objects"));
    }
    json_decref(lines);
    json_decref(all);
    return status;
}

/* ------------------------------------------------------------------ inspect */

static void print_table(const char *what, const json_t *port, const char *name)
{
    const char *index;
    json_t *value;
    printf("    %s", what);
    json_object_foreach(json_object_get(port, name), index, value)
        printf(" %s:%s", index, json_string_value(value));
    putchar('\n');
}

static void print_port(const json_t *port)
{
    const char *name;
    json_t *value;
    printf("  port %lld: %s, %s, lid %lld, lmc %lld, sm_lid %lld, mtu %lld, %lld Mb/s%s\n",
           report_number(port, "port"), report_text(port, "state"), report_text(port, "link_layer"),
           report_number(port, "lid"), report_number(port, "lmc"), report_number(port, "sm_lid"),
           report_number(port, "active_mtu"), report_number(port, "rate_mbps"),
           json_is_true(json_object_get(port, "grh_required")) ? ", GRH required" : "");
    print_table("P_Keys", port, "pkeys");
    print_table("GIDs", port, "gids");
    printf("    counters");
    json_object_foreach(json_object_get(port, "counters"), name, value)
    {
        if (json_integer_value(value))
            printf(" %s %lld", name, (long long)json_integer_value(value));
    }
    putchar('\n');
}

static void print_queue_pair(const json_t *qp)
{
    const json_t *peer = json_object_get(qp, "peer");
    printf("  qp 0x%06llx %s %s, pid %lld, port %lld, psn %lld/%lld, posted %lld/%lld",
           (unsigned long long)report_number(qp, "qp_num"), report_text(qp, "type"),
           report_text(qp, "state"), report_number(qp, "pid"), report_number(qp, "port"),
           report_number(qp, "sq_psn"), report_number(qp, "rq_psn"),
           report_number(qp, "sq_outstanding"), report_number(qp, "rq_outstanding"));
    if (peer)
        printf(", peer lid %lld qp 0x%06llx mtu %lld", report_number(peer, "lid"),
               (unsigned long long)report_number(peer, "qp_num"), report_number(peer, "path_mtu"));
    putchar('\n');
}

static void print_device(const json_t *device)
{
    size_t i;
    json_t *one;
    printf("%s %s: node_guid %s%s\n", report_text(device, "node"), report_text(device, "device"),
           report_text(device, "node_guid"),
           json_is_true(json_object_get(device, "removed")) ? ", removed" : "");
    json_array_foreach(json_object_get(device, "ports"), i, one) print_port(one);
    json_array_foreach(json_object_get(device, "programs"), i, one)
        printf("  program %lld: %lld objects%s\n", report_number(one, "pid"),
               report_number(one, "objects"),
               json_is_true(json_object_get(one, "frozen")) ? ", frozen" : "");
    json_array_foreach(json_object_get(device, "queue_pairs"), i, one) print_queue_pair(one);
    json_array_foreach(json_object_get(device, "completion_queues"), i, one)
        printf("  cq of pid %lld: %lld of %lld entries%s%s\n", report_number(one, "pid"),
               report_number(one, "entries"), report_number(one, "cqe"),
               json_is_true(json_object_get(one, "armed")) ? ", armed" : "",
               json_is_true(json_object_get(one, "overrun")) ? ", overrun" : "");
    json_array_foreach(json_object_get(device, "memory_regions"), i, one)
        printf("  mr of pid %lld: rkey %s, %lld bytes at %s, access %s\n",
               report_number(one, "pid"), report_text(one, "rkey"), report_number(one, "length"),
               report_text(one, "iova"), report_text(one, "access"));
}

/* Leaves only the devices of the node. False: there is none. */
static bool select_node(json_t *all, const struct words *words)
{
    size_t i;
    const char *node = words->arguments[0];
    json_t *device, *devices = json_object_get(all, "devices"), *kept = json_array();
    const char **names = calloc(json_array_size(devices) + 1, sizeof(*names));
    json_array_foreach(devices, i, device)
    {
        if (strcmp(report_text(device, "node"), node) == 0)
            json_array_append(kept, device);
        if (names)
            names[i] = report_text(device, "node");
    }
    bool found = json_array_size(kept) > 0;
    if (!found) {
        const char *near = names ? nearest_name(node, names, json_array_size(devices)) : NULL;
        report_fail(words, ERR_NOT_FOUND, SIMFABRIC_USAGE, "the fabric has no node '%s'%s%s", node,
                    near ? "; did you mean " : "", near ? near : "");
    }
    free(names);
    json_object_set_new(all, "devices", kept);
    return found;
}

int words_inspect(const struct instance *instance, const struct words *words)
{
    size_t i;
    int status;
    json_t *device, *all = report_read(instance, words, &status);
    if (!all)
        return status;
    if (words->count && !select_node(all, words)) {
        status = SIMFABRIC_USAGE;
    } else if (words->json) {
        status = print_json(all, words);
    } else {
        json_array_foreach(json_object_get(all, "devices"), i, device) print_device(device);
    }
    json_decref(all);
    return status;
}
