/* SPDX-License-Identifier: Apache-2.0 */
/* Reading system files for the model: each read is bounded, each that fails is named once. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/planted.h"
#include "src/net/model.h"

void net_fault(struct net_model *model, enum fabric_error error, const char *path)
{
    assert(model && error && path);
    if (model->fault_count < NET_MAX_FAULTS) {
        struct net_fault *fault = &model->faults[model->fault_count];
        fault->error = error;
        snprintf(fault->path, sizeof(fault->path), "%s", path);
    }
    model->fault_count++;
}

/* The path of a file below the device or its port; false where it would be too long. */
static bool path_of(const struct net_reader *r, const char *file, char *path)
{
    char port[16] = "";
    if (r->port_num)
        snprintf(port, sizeof(port), "ports/%u/", r->port_num);
    int length =
        snprintf(path, FABRIC_PATH_MAX, "/sys/class/infiniband/%s/%s%s", r->device, port, file);
    assert(length > 0);
    return length < FABRIC_PATH_MAX;
}

static bool judge(struct net_reader *r, bool needed, enum fabric_error error, const char *path)
{
    bool missing = error == ERR_NOT_FOUND || error == ERR_NOT_SUPPORTED;
    if (error && (needed || !missing) && !PLANTED(net_faults_dropped))
        net_fault(r->model, error, path);
    return error == FABRIC_OK;
}

bool net_line(struct net_reader *r, bool needed, const char *file, char *out)
{
    char path[FABRIC_PATH_MAX];
    assert(r && file && out);
    if (!path_of(r, file, path))
        return judge(r, true, ERR_TOO_LARGE, path);
    return judge(r, needed, sysfile_line(r->model->fabric, path, out), path);
}

bool net_number(struct net_reader *r, bool needed, const char *file, uint64_t most, uint64_t *out)
{
    char path[FABRIC_PATH_MAX];
    assert(r && file && out);
    if (!path_of(r, file, path))
        return judge(r, true, ERR_TOO_LARGE, path);
    return judge(r, needed, sysfile_number(r->model->fabric, path, most, out), path);
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

bool net_indexes(struct net_reader *r, const char *folder, uint32_t limit, uint32_t *out,
                 uint32_t most, uint32_t *count, uint32_t *length)
{
    char path[FABRIC_PATH_MAX], names[SYSFILE_NAMES];
    size_t bytes = 0;
    uint64_t number;
    assert(r && folder && out && count && length);
    *count = *length = 0;
    if (!path_of(r, folder, path))
        return judge(r, true, ERR_TOO_LARGE, path);
    if (!judge(r, true, sysfile_names(r->model->fabric, path, names, &bytes), path))
        return false;
    for (size_t at = 0; at < bytes; at += strlen(names + at) + 1) {
        if (!sysfile_parse(names + at, UINT32_MAX - 1, &number))
            continue;
        if (number >= *length)
            *length = (uint32_t)number + 1;
        if (number < limit && *count < most)
            out[(*count)++] = (uint32_t)number;
    }
    qsort(out, *count, sizeof(*out), by_number); /* the folder is sorted by text */
    return true;
}
