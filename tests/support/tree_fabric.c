/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/tree_fabric.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/ipoib.h"

static struct tree_fabric *tree_of(struct fabric *f)
{
    return (struct tree_fabric *)f;
}

/* ------------------------------------------------------------------ entries */

static struct tree_entry *find(const struct tree_fabric *tree, const char *path)
{
    for (size_t i = 0; i < tree->count; i++) {
        if (strcmp(tree->entries[i].path, path) == 0)
            return &tree->entries[i];
    }
    return NULL;
}

static struct tree_entry *add(struct tree_fabric *tree, const char *path)
{
    struct tree_entry *entry = find(tree, path);
    if (entry) {
        free(entry->content);
    } else {
        if (tree->count == tree->capacity) {
            tree->capacity = tree->capacity * 2 + 64;
            tree->entries = realloc(tree->entries, tree->capacity * sizeof(*tree->entries));
            assert(tree->entries);
        }
        entry = &tree->entries[tree->count++];
    }
    memset(entry, 0, sizeof(*entry));
    assert(path[0] == '/' && strlen(path) < sizeof(entry->path));
    snprintf(entry->path, sizeof(entry->path), "%s", path);
    return entry;
}

static void fill(struct tree_entry *entry, const void *content, size_t length)
{
    entry->content = malloc(length + 1);
    assert(entry->content);
    memcpy(entry->content, content, length);
    entry->content[length] = '\0';
    entry->length = length;
}

void tree_set(struct tree_fabric *tree, const char *path, const void *content, size_t length)
{
    fill(add(tree, path), content, length);
}

void tree_set_text(struct tree_fabric *tree, const char *path, const char *text)
{
    tree_set(tree, path, text, strlen(text));
}

bool tree_remove(struct tree_fabric *tree, const char *path)
{
    struct tree_entry *entry = find(tree, path);
    if (!entry)
        return false;
    free(entry->content);
    *entry = tree->entries[--tree->count];
    return true;
}

/* ------------------------------------------------------------------ paths */

/* Takes "a/.." and "." out of an absolute path. */
static void tidy(char *path)
{
    char out[2 * FABRIC_PATH_MAX] = "", *save = NULL;
    for (char *part = strtok_r(path, "/", &save); part; part = strtok_r(NULL, "/", &save)) {
        char *slash = strrchr(out, '/');
        if (strcmp(part, ".") == 0)
            continue;
        if (strcmp(part, "..") == 0) {
            if (slash)
                *slash = '\0';
            continue;
        }
        strcat(out, "/");
        strcat(out, part);
    }
    strcpy(path, out[0] ? out : "/");
}

/* Follows the links that `path` passes through, the last part only with `last`. */
static void follow(const struct tree_fabric *tree, const char *path, bool last, char *out)
{
    char target[2 * FABRIC_PATH_MAX];
    snprintf(out, 2 * FABRIC_PATH_MAX, "%.*s", FABRIC_PATH_MAX, path);
    for (int hops = 0; hops < 8; hops++) {
        bool moved = false;
        for (size_t i = 0; i < tree->count && !moved; i++) {
            const struct tree_entry *e = &tree->entries[i];
            size_t length = strlen(e->path);
            if (e->kind != TREE_LINK || strncmp(out, e->path, length) != 0 ||
                (out[length] != '/' && !(last && out[length] == '\0')))
                continue;
            size_t parent = (size_t)(strrchr(e->path, '/') - e->path);
            snprintf(target, sizeof(target), "%.*s/%.200s%.200s",
                     e->content[0] == '/' ? 0 : (int)parent, e->path, e->content, out + length);
            tidy(target);
            strcpy(out, target);
            moved = true;
        }
        if (!moved)
            return;
    }
}

/* ------------------------------------------------------------------ members */

static enum fabric_error sysfile_read(struct fabric *f, const char *path, void *buf,
                                      size_t capacity, size_t *length)
{
    char real[2 * FABRIC_PATH_MAX];
    struct tree_fabric *tree = tree_of(f);
    follow(tree, path, true, real);
    const struct tree_entry *entry = find(tree, real);
    if (entry && entry->kind == TREE_ERROR)
        return entry->error;
    if (!entry || entry->kind != TREE_FILE)
        return ERR_NOT_FOUND;
    if (entry->length > capacity)
        return ERR_TOO_LARGE;
    memcpy(buf, entry->content, entry->length);
    tree->bytes_read += entry->length;
    *length = entry->length;
    return FABRIC_OK;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Gives out sorted names once each. */
static enum fabric_error put_names(char **names, size_t count, char *buf, size_t capacity,
                                   size_t *length)
{
    enum fabric_error error = FABRIC_OK;
    size_t used = 0;
    qsort(names, count, sizeof(*names), by_text);
    for (size_t i = 0; i < count && !error; i++) {
        size_t size = strlen(names[i]) + 1;
        if (i > 0 && strcmp(names[i], names[i - 1]) == 0)
            continue;
        if (used + size > capacity)
            error = ERR_TOO_LARGE;
        else
            memcpy(buf + used, names[i], size);
        used += size;
    }
    if (!error)
        *length = used;
    return error;
}

static enum fabric_error sysfile_list(struct fabric *f, const char *path, void *buf,
                                      size_t capacity, size_t *length)
{
    char real[2 * FABRIC_PATH_MAX];
    struct tree_fabric *tree = tree_of(f);
    follow(tree, path, true, real);
    const struct tree_entry *itself = find(tree, real);
    if (itself && itself->kind == TREE_ERROR)
        return itself->error;
    if (itself && itself->kind == TREE_FILE)
        return ERR_NOT_FOUND;
    char **names = calloc(tree->count + 1, sizeof(*names));
    size_t count = 0, prefix = strlen(real);
    for (size_t i = 0; i < tree->count; i++) {
        const char *entry = tree->entries[i].path;
        if (strncmp(entry, real, prefix) == 0 && entry[prefix] == '/')
            names[count++] = strndup(entry + prefix + 1, strcspn(entry + prefix + 1, "/"));
    }
    enum fabric_error error =
        count || itself ? put_names(names, count, buf, capacity, length) : ERR_NOT_FOUND;
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
    return error;
}

static enum fabric_error sysfile_link(struct fabric *f, const char *path, char *buf,
                                      size_t capacity)
{
    char real[2 * FABRIC_PATH_MAX];
    follow(tree_of(f), path, false, real);
    const struct tree_entry *entry = find(tree_of(f), real);
    if (!entry || entry->kind != TREE_LINK)
        return ERR_NOT_FOUND;
    if (entry->length + 1 > capacity)
        return ERR_TOO_LARGE;
    memcpy(buf, entry->content, entry->length + 1);
    return FABRIC_OK;
}

/* The mode sets the MTU. */
static enum fabric_error write_mode(struct tree_fabric *tree, const char *folder, const char *value)
{
    char path[FABRIC_PATH_MAX], mtu[16];
    snprintf(path, sizeof(path), "%.200s/address", folder);
    const struct tree_entry *address = find(tree, path);
    bool connected, fits = fabric_ipoib_mode(value, strlen(value), &connected);
    bool takes = address && address->content[0] >= '8'; /* bit 0x80 of the first byte */
    if (!fits || (connected && !takes))
        return ERR_INVALID_ARGUMENT;
    snprintf(path, sizeof(path), "%.200s/mode", folder);
    if (!tree->keeps_mode)
        tree_set_text(tree, path, value);
    snprintf(path, sizeof(path), "%.200s/mtu", folder);
    snprintf(mtu, sizeof(mtu), "%d\n", connected ? IPOIB_CONNECTED_MTU : IPOIB_DATAGRAM_MTU);
    if (!tree->keeps_mtu && !tree->keeps_mode)
        tree_set_text(tree, path, mtu);
    return FABRIC_OK;
}

static enum fabric_error write_mtu(struct tree_fabric *tree, const char *folder, const char *value)
{
    char path[FABRIC_PATH_MAX];
    snprintf(path, sizeof(path), "%.200s/mode", folder);
    const struct tree_entry *mode = find(tree, path);
    bool connected = mode && mode->content && strncmp(mode->content, "connected", 9) == 0;
    uint32_t most = connected ? IPOIB_CONNECTED_MTU : IPOIB_DATAGRAM_MTU_4K, mtu;
    if (!fabric_ipoib_mtu(value, strlen(value), most, &mtu))
        return ERR_INVALID_ARGUMENT;
    snprintf(path, sizeof(path), "%.200s/mtu", folder);
    tree_set_text(tree, path, value);
    return FABRIC_OK;
}

static enum fabric_error sysfile_write(struct fabric *f, const char *path, const void *data,
                                       size_t length)
{
    struct tree_fabric *tree = tree_of(f);
    char real[2 * FABRIC_PATH_MAX], value[32];
    follow(tree, path, true, real);
    if (!find(tree, real))
        return ERR_NOT_FOUND;
    if (tree->writes_refused)
        return ERR_ACCESS_DENIED;
    assert(length < sizeof(value));
    memcpy(value, data, length);
    value[length] = '\0';
    char *name = strrchr(real, '/');
    *name++ = '\0';
    bool mode = strcmp(name, "mode") == 0;
    if (!mode && strcmp(name, "mtu") != 0)
        return ERR_ACCESS_DENIED;
    enum fabric_error error = mode ? write_mode(tree, real, value) : write_mtu(tree, real, value);
    size_t used = strlen(tree->written);
    if (!error)
        snprintf(tree->written + used, sizeof(tree->written) - used, "%s=%.*s;", name,
                 (int)strcspn(value, "\n"), value);
    return error;
}

static enum fabric_error now(struct fabric *f, uint64_t *out)
{
    *out = tree_of(f)->now;
    return FABRIC_OK;
}

static enum fabric_error guarantees(struct fabric *f, struct fabric_guarantees *out)
{
    (void)f;
    memset(out, 0, sizeof(*out));
    return FABRIC_OK;
}

static enum fabric_error timer_set(struct fabric *f, uint64_t deadline, uint64_t cookie,
                                   fabric_timer *out)
{
    assert(cookie == 1);
    tree_of(f)->deadline = deadline;
    out->id = 1;
    return FABRIC_OK;
}

static enum fabric_error poll(struct fabric *f, struct fabric_event *events, size_t capacity,
                              uint64_t deadline, size_t *count)
{
    struct tree_fabric *tree = tree_of(f);
    assert(capacity && deadline >= tree->deadline);
    *count = 1;
    events[0] = (struct fabric_event){.type = FABRIC_EVENT_WOKEN, .time = tree->now};
    if (tree->woken)
        return FABRIC_OK;
    tree->now = tree->deadline;
    tree->port.bad_pkey_cntr += tree->growth;
    events[0] = (struct fabric_event){.type = FABRIC_EVENT_TIMER, .time = tree->now};
    events[0].u.timer.timer.id = 1;
    events[0].u.timer.cookie = 1;
    return FABRIC_OK;
}

static enum fabric_error device_open(struct fabric *f, const char *name, fabric_device *out)
{
    (void)name;
    if (!tree_of(f)->port.port_num)
        return ERR_NOT_FOUND;
    out->id = 1;
    return FABRIC_OK;
}

static enum fabric_error device_close(struct fabric *f, fabric_device device)
{
    assert(f && device.id);
    return FABRIC_OK;
}

static enum fabric_error device_query(struct fabric *f, fabric_device device,
                                      struct fabric_device_attr *out)
{
    assert(f && device.id);
    *out = (struct fabric_device_attr){.caps = FABRIC_CAP_RC, .num_ports = 1};
    return FABRIC_OK;
}

static enum fabric_error port_query(struct fabric *f, fabric_device device, uint8_t port_num,
                                    struct fabric_port_attr *out)
{
    assert(device.id && port_num == 1);
    *out = tree_of(f)->port;
    return FABRIC_OK;
}

static enum fabric_error stream_local(struct fabric *f, fabric_stream stream, char *address,
                                      char *netdev)
{
    const struct tree_fabric *tree = tree_of(f);
    assert(stream.id);
    if (tree->stream_error)
        return tree->stream_error;
    strcpy(address, "10.0.0.1:9900");
    strcpy(netdev, tree->netdev);
    return FABRIC_OK;
}

static enum fabric_error keep_line(struct fabric *f, enum fabric_log_level level, const char *line)
{
    (void)level;
    snprintf(tree_of(f)->logged, sizeof(tree_of(f)->logged), "%s", line);
    return FABRIC_OK;
}

static enum fabric_error dcb_query(struct fabric *f, const char *netdev, struct fabric_dcb *out)
{
    (void)netdev;
    *out = tree_of(f)->dcb;
    return FABRIC_OK;
}

static enum fabric_error destroy(struct fabric *f)
{
    struct tree_fabric *tree = tree_of(f);
    for (size_t i = 0; i < tree->count; i++)
        free(tree->entries[i].content);
    free(tree->entries);
    free(tree);
    return FABRIC_OK;
}

/* Swallows the arguments of members that are not there. */
static void ignore(struct fabric *f, ...)
{
    assert(f);
}

#define X(upper, lower, parameters, arguments, fault)                                              \
    static enum fabric_error absent_##lower parameters                                             \
    {                                                                                              \
        struct fabric *next = f;                                                                   \
        ignore arguments;                                                                          \
        return ERR_NOT_SUPPORTED;                                                                  \
    }
#include "src/fabric/ops.def"
#undef X

/* ------------------------------------------------------------------ descriptions */

static void read_line(struct tree_fabric *tree, const char *folder, char *line, size_t number)
{
    char path[2 * FABRIC_PATH_MAX];
    char *name_end = line + strcspn(line, " :");
    char kind = *name_end == ':' ? ':' : '\0';
    char *rest = name_end + (*name_end != '\0');
    *name_end = '\0';
    if (!kind && strncmp(rest, "-> ", 3) == 0)
        kind = '>', rest += 3;
    else if (!kind && strncmp(rest, "! ", 2) == 0)
        kind = '!', rest += 2;
    else if (!kind && strncmp(rest, "* ", 2) == 0)
        kind = '*', rest += 2;
    snprintf(path, sizeof(path), "%s%s%s", line[0] == '/' ? "" : folder, line[0] == '/' ? "" : "/",
             line);
    size_t length = strlen(path);
    bool is_folder = !kind && path[length - 1] == '/';
    if (is_folder)
        path[length - 1] = '\0';
    struct tree_entry *entry = add(tree, path);
    if (kind == ':') {
        rest += *rest == ' ';
        fill(entry, rest, strlen(rest) + (*rest != '\0')); /* in place of the NUL: the newline */
        if (*rest)
            entry->content[entry->length - 1] = '\n';
    } else if (kind == '>') {
        entry->kind = TREE_LINK;
        fill(entry, rest, strlen(rest));
    } else if (kind == '!' && error_by_name(rest, &entry->error)) {
        entry->kind = TREE_ERROR;
    } else if (kind == '*') {
        size_t count = strtoul(rest, &rest, 10);
        char *many = malloc(count + 1);
        assert(many && *rest == ' ' && rest[1]);
        memset(many, rest[1] == '\\' ? 0x01 : rest[1], count);
        fill(entry, many, count);
        free(many);
    } else if (is_folder) {
        entry->kind = TREE_FOLDER;
    } else {
        fprintf(stderr, "line %zu of the tree cannot be read: %s\n", number, line);
        abort();
    }
}

struct tree_fabric *tree_fabric_new(const char *description)
{
    static struct fabric_ops ops = {
#define X(upper, lower, parameters, arguments, fault) .lower = absent_##lower,
#include "src/fabric/ops.def"
#undef X
    };
    ops.sysfile_read = sysfile_read;
    ops.sysfile_list = sysfile_list;
    ops.sysfile_link = sysfile_link;
    ops.sysfile_write = sysfile_write;
    ops.dcb_query = dcb_query;
    ops.now = now;
    ops.guarantees = guarantees;
    ops.timer_set = timer_set;
    ops.poll = poll;
    ops.stream_local = stream_local;
    ops.log = keep_line;
    ops.device_open = device_open;
    ops.device_close = device_close;
    ops.device_query = device_query;
    ops.port_query = port_query;
    ops.destroy = destroy;
    struct tree_fabric *tree = calloc(1, sizeof(*tree));
    char *text = strdup(description), folder[FABRIC_PATH_MAX] = "";
    assert(tree && text);
    fabric_init(&tree->head, &ops);
    size_t number = 0;
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        number++;
        if (line[0] == '[')
            snprintf(folder, sizeof(folder), "%.*s", (int)strcspn(line + 1, "]"), line + 1);
        else if (line[0] && line[0] != '#')
            read_line(tree, folder, line, number);
    }
    free(text);
    return tree;
}

char *tree_slurp(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        fprintf(stderr, "cannot open %s\n", path);
        abort();
    }
    char *text = malloc(1 << 20);
    assert(text);
    size_t length = fread(text, 1, (1 << 20) - 1, file);
    text[length] = '\0';
    fclose(file);
    return text;
}

struct tree_fabric *tree_fabric_open(const char *path)
{
    char *text = tree_slurp(path);
    struct tree_fabric *tree = tree_fabric_new(text);
    free(text);
    return tree;
}

void tree_fabric_close(struct tree_fabric *tree)
{
    fabric_destroy(&tree->head);
}
