/* SPDX-License-Identifier: Apache-2.0 */
#include "src/scenario/files.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/fabric/fabric.h"

#define MAX_FOLDERS 16 /* one inside the other */

bool file_read(const char *path, struct text *out, char *detail)
{
    assert(path && out && detail);
    FILE *file = fopen(path, "rb");
    char buffer[4096];
    size_t got;
    if (!file) {
        snprintf(detail, FILES_DETAIL, "cannot open %s: %s", path, strerror(errno));
        return false;
    }
    while ((got = fread(buffer, 1, sizeof buffer, file)) > 0 && out->length <= FILES_MAX_BYTES)
        text_add_bytes(out, buffer, got);
    bool failed = ferror(file) != 0;
    const char *reason = failed ? strerror(errno) : "";
    fclose(file);
    if (!failed && out->length <= FILES_MAX_BYTES)
        return true;
    if (failed)
        snprintf(detail, FILES_DETAIL, "cannot read %s: %s", path, reason);
    else
        snprintf(detail, FILES_DETAIL, "%s is larger than 64 MiB", path);
    text_free(out);
    return false;
}

bool file_read_beside(const char *beside, const char *path, struct text *out, char *detail)
{
    const char *slash = strrchr(beside, '/');
    struct text full = {0};
    assert(beside && path);
    if (slash && path[0] != '/')
        text_add_bytes(&full, beside, (size_t)(slash - beside) + 1);
    text_add(&full, "%s", path);
    bool done = file_read(text_data(&full), out, detail);
    text_free(&full);
    return done;
}

void file_node_path(const char *file, char *out)
{
    const char *slash = strrchr(file, '/');
    assert(file && out);
    snprintf(out, FABRIC_PATH_MAX, "/files/%s", slash ? slash + 1 : file);
}

static void list_put(struct file_list *list, const char *path)
{
    assert(list && path);
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 16;
        list->paths = realloc(list->paths, list->capacity * sizeof *list->paths);
        if (!list->paths)
            abort();
    }
    list->paths[list->count] = strdup(path);
    if (!list->paths[list->count++])
        abort();
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_yaml(const char *name)
{
    size_t length = strlen(name);
    return length > 5 && strcmp(name + length - 5, ".yaml") == 0;
}

static bool add_folder(struct file_list *list, const char *path, unsigned depth, char *detail);

/* What is in a folder: other folders and scenario files; the rest is nobody's business. */
static bool add_entry(struct file_list *list, const char *path, unsigned depth, char *detail)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return true;
    if (S_ISDIR(info.st_mode))
        return add_folder(list, path, depth + 1, detail);
    if (S_ISREG(info.st_mode) && is_yaml(path))
        list_put(list, path);
    return true;
}

static bool add_folder(struct file_list *list, const char *path, unsigned depth, char *detail)
{
    DIR *folder = depth < MAX_FOLDERS ? opendir(path) : NULL;
    struct file_list names = {0};
    struct dirent *entry;
    assert(depth <= MAX_FOLDERS);
    if (!folder) {
        snprintf(detail, FILES_DETAIL, "cannot look into %s", path);
        return false;
    }
    while ((entry = readdir(folder))) {
        if (entry->d_name[0] != '.')
            list_put(&names, entry->d_name);
    }
    closedir(folder);
    if (names.count)
        qsort(names.paths, names.count, sizeof *names.paths, by_name);
    bool done = true;
    for (size_t i = 0; i < names.count && done; i++) {
        struct text full = {0};
        bool slash = *path && path[strlen(path) - 1] == '/';
        text_add(&full, "%s%s%s", path, slash ? "" : "/", names.paths[i]);
        done = add_entry(list, text_data(&full), depth, detail);
        text_free(&full);
    }
    file_list_free(&names);
    return done;
}

bool file_list_add(struct file_list *list, const char *path, char *detail)
{
    struct stat info;
    assert(list && path && detail);
    if (stat(path, &info) != 0) {
        snprintf(detail, FILES_DETAIL, "cannot find %s: %s", path, strerror(errno));
        return false;
    }
    if (S_ISDIR(info.st_mode))
        return add_folder(list, path, 0, detail);
    list_put(list, path);
    return true;
}

void file_list_free(struct file_list *list)
{
    assert(list);
    for (size_t i = 0; i < list->count; i++)
        free(list->paths[i]);
    free(list->paths);
    *list = (struct file_list){0};
}
