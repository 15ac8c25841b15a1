/* SPDX-License-Identifier: Apache-2.0 */
/* Control streams, storage and system files of a fabric. */
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/front.h"
#include "src/fabric/planted.h"

static struct front_stream *stream_of(struct fabric *f, fabric_stream stream)
{
    return handles_get(&front_of(f)->handles, stream.id, HANDLE_STREAM);
}

static void on_stream(void *context, struct stream *stream, enum stream_event event,
                      enum fabric_error error)
{
    static const enum fabric_event_type types[] = {
        [STREAM_CONNECTED] = FABRIC_EVENT_CONNECTED,
        [STREAM_READABLE] = FABRIC_EVENT_READABLE,
        [STREAM_WRITABLE] = FABRIC_EVENT_WRITABLE,
        [STREAM_CLOSED] = FABRIC_EVENT_CLOSED,
    };
    assert(event <= STREAM_CLOSED && (error != FABRIC_OK) == (event == STREAM_CLOSED));
    const struct fabric_event told = {
        .type = types[event],
        .u.stream = {.stream = {(uint32_t)stream_tag(stream)}, .error = error}};
    front_push(context, &told);
}

static void on_accepted(void *context, struct stream_listener *by, struct stream *stream)
{
    struct sim_fabric *f = context;
    struct front_listener *listener =
        handles_get(&f->handles, (uint32_t)stream_listener_tag(by), HANDLE_LISTENER);
    struct front_stream *made = calloc(1, sizeof(*made));
    assert(made);
    front_object_add(f, &made->object, HANDLE_STREAM, &f->streams);
    made->stream = stream;
    made->cookie = listener->cookie;
    made->accepted_by = listener->object.id;
    stream_set_tag(stream, made->object.id);
    const struct fabric_event told = {.type = FABRIC_EVENT_ACCEPTED,
                                      .u.stream = {.stream = {made->object.id},
                                                   .listener = {listener->object.id},
                                                   .cookie = listener->cookie}};
    front_push(f, &told);
}

static const struct stream_owner *owner(struct sim_fabric *f)
{
    f->stream_owner = (struct stream_owner){f, on_stream, on_accepted};
    return &f->stream_owner;
}

enum fabric_error front_listen(struct fabric *fabric, const char *address, uint64_t cookie,
                               fabric_listener *out, char *bound)
{
    struct sim_fabric *f = front_of(fabric);
    if (!(f->caps & FABRIC_CAP_TCP))
        return ERR_NOT_SUPPORTED;
    struct front_listener *listener = calloc(1, sizeof(*listener));
    assert(listener);
    front_object_add(f, &listener->object, HANDLE_LISTENER, &f->listeners);
    listener->cookie = cookie;
    enum fabric_error error = stream_listen(f->host->streams, address, owner(f),
                                            listener->object.id, &listener->listener, bound);
    if (error) {
        front_object_drop(&listener->object);
        return error;
    }
    out->id = listener->object.id;
    return FABRIC_OK;
}

static void drop_stream(struct front_stream *stream, bool reset)
{
    assert(stream->object.kind == HANDLE_STREAM && stream->stream);
    stream_close(stream->stream, reset);
    front_object_drop(&stream->object);
}

/* Peers that nobody was told of are turned away. */
enum fabric_error front_listener_close(struct fabric *fabric, fabric_listener handle)
{
    struct sim_fabric *f = front_of(fabric);
    struct front_listener *listener = handles_get(&f->handles, handle.id, HANDLE_LISTENER);
    struct front_object *object = f->streams, *next;
    for (; object; object = next) {
        struct front_stream *stream = (struct front_stream *)object;
        next = object->next;
        if (stream->accepted_by == handle.id)
            drop_stream(stream, true);
    }
    stream_listener_close(listener->listener);
    front_object_drop(&listener->object);
    return FABRIC_OK;
}

enum fabric_error front_connect(struct fabric *fabric, const char *address, uint64_t cookie,
                                fabric_stream *out)
{
    struct sim_fabric *f = front_of(fabric);
    if (!(f->caps & FABRIC_CAP_TCP))
        return ERR_NOT_SUPPORTED;
    struct front_stream *stream = calloc(1, sizeof(*stream));
    assert(stream);
    front_object_add(f, &stream->object, HANDLE_STREAM, &f->streams);
    stream->cookie = cookie;
    enum fabric_error error =
        stream_connect(f->host->streams, address, owner(f), stream->object.id, &stream->stream);
    if (error) {
        front_object_drop(&stream->object);
        return error;
    }
    out->id = stream->object.id;
    return FABRIC_OK;
}

enum fabric_error front_stream_peer(struct fabric *f, fabric_stream stream, char *out)
{
    return stream_peer(stream_of(f, stream)->stream, out);
}

/* Unless the topology says so the control network is no interface that the system files show. */
enum fabric_error front_stream_local(struct fabric *f, fabric_stream stream, char *address,
                                     char *netdev)
{
    const char *control = front_of(f)->host->control;
    memcpy(netdev, control, strlen(control) + 1);
    return stream_local(stream_of(f, stream)->stream, address);
}

enum fabric_error front_stream_set_cookie(struct fabric *f, fabric_stream stream, uint64_t cookie)
{
    stream_of(f, stream)->cookie = cookie;
    return FABRIC_OK;
}

enum fabric_error front_stream_send(struct fabric *f, fabric_stream stream, const void *data,
                                    size_t length, size_t *accepted)
{
    return stream_send(stream_of(f, stream)->stream, data, length, accepted);
}

enum fabric_error front_stream_recv(struct fabric *f, fabric_stream stream, void *buf,
                                    size_t capacity, size_t *received, bool *end)
{
    return stream_recv(stream_of(f, stream)->stream, buf, capacity, received, end);
}

enum fabric_error front_stream_shutdown(struct fabric *f, fabric_stream stream)
{
    stream_shutdown(stream_of(f, stream)->stream);
    return FABRIC_OK;
}

enum fabric_error front_stream_close(struct fabric *f, fabric_stream stream, bool reset)
{
    drop_stream(stream_of(f, stream), reset);
    return FABRIC_OK;
}

/* As an operating system closes what a program leaves behind. */
void front_streams_end(struct sim_fabric *f)
{
    while (f->streams)
        drop_stream((struct front_stream *)f->streams, sim_random_below(f->sim, 2) != 0);
    while (f->listeners) {
        struct front_listener *listener = (struct front_listener *)f->listeners;
        stream_listener_close(listener->listener);
        front_object_drop(&listener->object);
    }
}

/* ------------------------------------------------------------------ storage */

static void on_done(void *context, const struct fabric_io_done *done)
{
    const struct fabric_event event = {.type = FABRIC_EVENT_IO_DONE, .u.io = *done};
    front_push(context, &event);
}

enum fabric_error front_io_submit(struct fabric *fabric, const struct fabric_io *io)
{
    struct sim_fabric *f = front_of(fabric);
    if (!f->disk)
        f->disk = disk_user_create(f->host->disk, on_done, f);
    return disk_submit(f->disk, io);
}

/* ------------------------------------------------------------------ system files */

struct sysfs_device *sim_host_sysfs(const struct sim_host *host, struct sysfs_view *view)
{
    struct sysfs_device *devices = calloc(host->device_count + 1, sizeof(*devices));
    assert(devices);
    assert(host->name[0]);
    *view = (struct sysfs_view){.node = host->name, .devices = devices, .ipoib_module = true};
    for (size_t i = 0; i < host->device_count; i++) {
        if (host->devices[i]->hca)
            devices[view->device_count++] = host->devices[i]->sysfs;
    }
    return devices;
}

enum fabric_error front_sysfile_read(struct fabric *f, const char *path, void *buf, size_t capacity,
                                     size_t *length)
{
    struct sysfs_view view;
    struct sysfs_device *devices = sim_host_sysfs(front_of(f)->host, &view);
    enum fabric_error error = sysfs_read(&view, path, buf, capacity, length);
    free(devices);
    return error;
}

enum fabric_error front_sysfile_list(struct fabric *f, const char *path, void *buf, size_t capacity,
                                     size_t *length)
{
    struct sysfs_view view;
    struct sysfs_device *devices = sim_host_sysfs(front_of(f)->host, &view);
    enum fabric_error error = sysfs_list(&view, path, buf, capacity, length);
    free(devices);
    return error;
}

enum fabric_error front_sysfile_link(struct fabric *f, const char *path, char *buf, size_t capacity)
{
    struct sysfs_view view;
    struct sysfs_device *devices = sim_host_sysfs(front_of(f)->host, &view);
    enum fabric_error error = sysfs_link(&view, path, buf, capacity);
    free(devices);
    return error;
}

static enum fabric_error write_interface(struct sim_host *host, struct sysfs_port *port,
                                         const char *file, const void *data, size_t length)
{
    enum fabric_error error = sysfs_ipoib_write(port, file, data, length);
    assert(port->netdev[0]);
    if (!error && strcmp(port->netdev, host->control) == 0)
        stream_host_set_mtu(host->streams, port->netdev_mtu);
    return error;
}

/* Files of IPoIB interfaces are written to; everything else that there is may only be read. */
enum fabric_error front_sysfile_write(struct fabric *f, const char *path, const void *data,
                                      size_t length)
{
    static const char folder[] = "/sys/class/net/";
    char byte;
    size_t got;
    enum fabric_error there = front_sysfile_read(f, path, &byte, 1, &got);
    if (there == ERR_NOT_FOUND)
        return ERR_NOT_FOUND;
    if (strncmp(path, folder, sizeof(folder) - 1) == 0) {
        const char *name = path + sizeof(folder) - 1, *file = strchr(name, '/');
        struct sim_host *host = front_of(f)->host;
        struct sysfs_port *port =
            file ? front_interface(host, name, (size_t)(file - name), NULL) : NULL;
        if (port && (port->info->link_layer == FABRIC_LINK_LAYER_INFINIBAND ||
                     PLANTED(front_writes_any_link_layer)))
            return write_interface(host, port, file + 1, data, length);
    }
    return ERR_ACCESS_DENIED;
}
