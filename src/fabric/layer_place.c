/* SPDX-License-Identifier: Apache-2.0 */
#include "src/fabric/layer_place.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/layer.h"
#include "src/fabric/planted.h"

#define SYSFS "/sys/class/infiniband/"

struct place {
    struct layer layer;
    struct layer_place is;
};

static const struct layer_place *place_of(struct fabric *f)
{
    return &((struct place *)f)->is;
}

/* ------------------------------------------------------------------ devices */

static const char *real_device(const struct layer_place *place, const char *name)
{
    for (size_t i = 0; i < place->device_count; i++) {
        if (strcmp(place->devices[i].name, name) == 0)
            return place->devices[i].real;
    }
    return NULL;
}

static bool is_present(struct fabric *next, const char *real)
{
    char names[64][FABRIC_NAME_MAX];
    size_t count = 0;
    if (fabric_device_list(next, names, 64, &count))
        return false;
    for (size_t i = 0; i < count && i < 64; i++) {
        if (strcmp(names[i], real) == 0)
            return true;
    }
    return false;
}

static enum fabric_error device_list(struct fabric *f, char (*names)[FABRIC_NAME_MAX],
                                     size_t capacity, size_t *count)
{
    const struct layer_place *place = place_of(f);
    *count = 0;
    for (size_t i = 0; i < place->device_count; i++) {
        if (!is_present(layer_next(f), place->devices[i].real))
            continue;
        if (*count < capacity)
            memcpy(names[*count], place->devices[i].name, FABRIC_NAME_MAX);
        ++*count;
    }
    return FABRIC_OK;
}

static enum fabric_error device_open(struct fabric *f, const char *name, fabric_device *out)
{
    const char *real = real_device(place_of(f), name);
    return real ? fabric_device_open(layer_next(f), real, out) : ERR_NOT_FOUND;
}

static enum fabric_error device_query(struct fabric *f, fabric_device device,
                                      struct fabric_device_attr *out)
{
    const struct layer_place *place = place_of(f);
    enum fabric_error error = fabric_device_query(layer_next(f), device, out);
    for (size_t i = 0; i < place->device_count && !error; i++) {
        if (strcmp(place->devices[i].real, out->name) == 0 && !PLANTED(fabric_place_real_names)) {
            memcpy(out->name, place->devices[i].name, FABRIC_NAME_MAX);
            break;
        }
    }
    return error;
}

/* ------------------------------------------------------------------ addresses */

/* "HOST:PORT" with another host, where `from` is it. False: it is another one, or too long. */
static bool replace_host(const char *address, const char *from, const char *to, char *out)
{
    size_t length = strlen(from);
    assert(address && out);
    if (strncmp(address, from, length) != 0 || address[length] != ':')
        return false;
    return snprintf(out, FABRIC_ADDRESS_MAX, "%s%s", to, address + length) < FABRIC_ADDRESS_MAX;
}

static const char *go_down(const struct layer_place *place, const char *address, char *out)
{
    for (size_t i = 0; i < place->peer_count; i++) {
        if (replace_host(address, place->peers[i].name, place->peers[i].real, out))
            return out;
    }
    return address;
}

static void come_up(const struct layer_place *place, char *address)
{
    char copy[FABRIC_ADDRESS_MAX];
    for (size_t i = 0; i < place->peer_count; i++) {
        snprintf(copy, sizeof(copy), "%s", address);
        if (!PLANTED(fabric_place_real_addresses) &&
            replace_host(copy, place->peers[i].real, place->peers[i].name, address))
            return;
    }
}

static const char *own(const struct layer_place *place, const char *address, char *out)
{
    if (place->address[0] && replace_host(address, "0.0.0.0", place->address, out))
        return out;
    return go_down(place, address, out);
}

static enum fabric_error listen_at(struct fabric *f, const char *address, uint64_t cookie,
                                   fabric_listener *out, char *bound)
{
    char real[FABRIC_ADDRESS_MAX];
    const struct layer_place *place = place_of(f);
    enum fabric_error error =
        fabric_listen(layer_next(f), own(place, address, real), cookie, out, bound);
    if (!error)
        come_up(place, bound);
    return error;
}

static enum fabric_error connect_to(struct fabric *f, const char *address, uint64_t cookie,
                                    fabric_stream *out)
{
    char real[FABRIC_ADDRESS_MAX];
    return fabric_connect(layer_next(f), go_down(place_of(f), address, real), cookie, out);
}

static enum fabric_error stream_peer(struct fabric *f, fabric_stream stream, char *out)
{
    enum fabric_error error = fabric_stream_peer(layer_next(f), stream, out);
    if (!error)
        come_up(place_of(f), out);
    return error;
}

static enum fabric_error stream_local(struct fabric *f, fabric_stream stream, char *address,
                                      char *netdev)
{
    enum fabric_error error = fabric_stream_local(layer_next(f), stream, address, netdev);
    if (!error)
        come_up(place_of(f), address);
    return error;
}

static enum fabric_error http_listen(struct fabric *f, const struct fabric_http_init *init,
                                     fabric_http *out, char *bound)
{
    char real[FABRIC_ADDRESS_MAX];
    const struct layer_place *place = place_of(f);
    struct fabric_http_init there = *init;
    there.address = own(place, init->address, real);
    enum fabric_error error = fabric_http_listen(layer_next(f), &there, out, bound);
    if (!error)
        come_up(place, bound);
    return error;
}

/* ------------------------------------------------------------------ files */

static bool below(const struct layer_place *place, const char *path, char *out)
{
    return snprintf(out, FABRIC_PATH_MAX, "%s%s", place->storage, path) < FABRIC_PATH_MAX;
}

static enum fabric_error io_submit(struct fabric *f, const struct fabric_io *io)
{
    char path[FABRIC_PATH_MAX], path2[FABRIC_PATH_MAX];
    struct fabric_io there = *io;
    if ((io->path && !below(place_of(f), io->path, path)) ||
        (io->path2 && !below(place_of(f), io->path2, path2)))
        return ERR_INVALID_ARGUMENT;
    there.path = io->path && !PLANTED(fabric_place_storage_is_the_root) ? path : io->path;
    there.path2 = io->path2 ? path2 : NULL;
    return fabric_io_submit(layer_next(f), &there);
}

/* The path of a device's file, by its real name; null where the device is not there. */
static const char *system_path(const struct layer_place *place, const char *path, char *out)
{
    char name[FABRIC_NAME_MAX];
    if (strncmp(path, SYSFS, strlen(SYSFS)) != 0)
        return path;
    const char *begin = path + strlen(SYSFS);
    size_t length = strcspn(begin, "/");
    if (length >= sizeof(name))
        return NULL;
    memcpy(name, begin, length);
    name[length] = '\0';
    const char *real = real_device(place, name);
    if (!real ||
        snprintf(out, FABRIC_PATH_MAX, SYSFS "%s%s", real, begin + length) >= FABRIC_PATH_MAX)
        return NULL;
    return out;
}

static enum fabric_error sysfile_read(struct fabric *f, const char *path, void *buf,
                                      size_t capacity, size_t *length)
{
    char real[FABRIC_PATH_MAX];
    const char *there = system_path(place_of(f), path, real);
    return there ? fabric_sysfile_read(layer_next(f), there, buf, capacity, length) : ERR_NOT_FOUND;
}

/* The devices themselves under their names here. */
static enum fabric_error list_devices(struct fabric *f, char *buf, size_t capacity, size_t *length)
{
    char names[LAYER_PLACE_DEVICES][FABRIC_NAME_MAX];
    size_t count = 0, used = 0;
    enum fabric_error error = device_list(f, names, LAYER_PLACE_DEVICES, &count);
    for (size_t i = 0; i < count && !error; i++) {
        size_t size = strlen(names[i]) + 1;
        if (used + size > capacity)
            return ERR_TOO_LARGE;
        memcpy(buf + used, names[i], size);
        used += size;
    }
    *length = used;
    return error;
}

static enum fabric_error sysfile_list(struct fabric *f, const char *path, void *buf,
                                      size_t capacity, size_t *length)
{
    char real[FABRIC_PATH_MAX];
    if (strcmp(path, "/sys/class/infiniband") == 0)
        return list_devices(f, buf, capacity, length);
    const char *there = system_path(place_of(f), path, real);
    return there ? fabric_sysfile_list(layer_next(f), there, buf, capacity, length) : ERR_NOT_FOUND;
}

static enum fabric_error sysfile_link(struct fabric *f, const char *path, char *buf,
                                      size_t capacity)
{
    char real[FABRIC_PATH_MAX];
    const char *there = system_path(place_of(f), path, real);
    return there ? fabric_sysfile_link(layer_next(f), there, buf, capacity) : ERR_NOT_FOUND;
}

static enum fabric_error destroy(struct fabric *f)
{
    enum fabric_error error = fabric_destroy(layer_next(f));
    free(f);
    return error;
}

static int by_name(const void *a, const void *b)
{
    const struct layer_place_device *left = a, *right = b;
    return strcmp(left->name, right->name);
}

enum fabric_error layer_place_create(struct fabric *next, const struct layer_place *place,
                                     struct fabric **out)
{
    assert(next && place && out && place->device_count <= LAYER_PLACE_DEVICES);
    assert(place->peer_count <= LAYER_PLACE_PEERS);
    struct place *made = calloc(1, sizeof(*made));
    if (!made)
        return ERR_RESOURCES_EXHAUSTED;
    made->is = *place;
    qsort(made->is.devices, place->device_count, sizeof(place->devices[0]), by_name);
    layer_init(&made->layer, next);
    struct fabric_ops *ops = &made->layer.ops;
    ops->destroy = destroy;
    ops->device_list = device_list;
    ops->device_open = device_open;
    ops->device_query = device_query;
    ops->listen = listen_at;
    ops->connect = connect_to;
    ops->stream_peer = stream_peer;
    ops->stream_local = stream_local;
    ops->http_listen = http_listen;
    ops->io_submit = io_submit;
    ops->sysfile_read = sysfile_read;
    ops->sysfile_list = sysfile_list;
    ops->sysfile_link = sysfile_link;
    *out = &made->layer.head;
    return FABRIC_OK;
}
