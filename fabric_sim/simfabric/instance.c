/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_sim/simfabric/instance.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "fabric_sim/simfabric/tree.h"
#include "src/fabric/planted.h"

static bool is_name(const char *name)
{
    size_t length = strlen(name);
    if (length == 0 || length >= INSTANCE_NAME || name[0] == '.' || name[0] == '-')
        return false;
    for (size_t i = 0; i < length; i++) {
        char c = name[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter && !(c >= '0' && c <= '9') && c != '-' && c != '_' && c != '.')
            return false;
    }
    return true;
}

static bool base_of(const char *runtime, char *out, size_t size)
{
    int length;
    if (runtime && runtime[0] == '/')
        length = snprintf(out, size, "%s/simfabric", runtime);
    else if (geteuid() == 0 && access("/run", W_OK) == 0) /* root of a user namespace may not */
        length = snprintf(out, size, "/run/simfabric");
    else
        length = snprintf(out, size, "/tmp/simfabric-%u", (unsigned)geteuid());
    return length > 0 && (size_t)length < size;
}

bool instance_at(struct instance *instance, const char *name, const char *runtime)
{
    char base[INSTANCE_PATH - INSTANCE_NAME];
    struct sockaddr_un address;
    assert(instance && name);
    if (!is_name(name) || !base_of(runtime, base, sizeof(base)))
        return false;
    snprintf(instance->name, sizeof(instance->name), "%s", name);
    snprintf(instance->folder, sizeof(instance->folder), "%s/%s", base, name);
    snprintf(instance->socket, sizeof(instance->socket), "%s/socket", instance->folder);
    snprintf(instance->record, sizeof(instance->record), "%s/run", instance->folder);
    snprintf(instance->topology, sizeof(instance->topology), "%s/topology.yaml", instance->folder);
    snprintf(instance->log, sizeof(instance->log), "%s/log", instance->folder);
    return strlen(instance->socket) < sizeof(address.sun_path);
}

/* ------------------------------------------------------------------ who runs it */

/* Field 22 of /proc/PID/stat; 0 when there is no such process. */
static unsigned long long start_time(pid_t pid)
{
    char path[64], text[1024];
    unsigned long long start = 0;
    snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    size_t length = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[length] = '\0';
    char *field = strrchr(text, ')'); /* the name before it may hold anything */
    for (int i = 2; field && i < 22; i++) {
        field = strchr(field + 1, ' ');
        if (i == 2 && field && field[1] == 'Z')
            return 0; /* ended, and only not yet waited for */
    }
    if (field)
        start = strtoull(field + 1, NULL, 10);
    return start;
}

bool instance_write(const struct instance *instance, pid_t pid)
{
    char fresh[sizeof(instance->record) + 4];
    assert(instance && pid > 0);
    snprintf(fresh, sizeof(fresh), "%s.new", instance->record);
    FILE *file = fopen(fresh, "we");
    if (!file)
        return false;
    bool written = fprintf(file, "%ld %llu\n", (long)pid, start_time(pid)) > 0;
    return fclose(file) == 0 && written && rename(fresh, instance->record) == 0;
}

pid_t instance_runner(const struct instance *instance)
{
    assert(instance);
    char text[64];
    FILE *file = fopen(instance->record, "re");
    if (!file)
        return 0;
    char *line = fgets(text, sizeof(text), file), *end = NULL;
    fclose(file);
    long pid = line ? strtol(line, &end, 10) : 0;
    unsigned long long start = line ? strtoull(end, NULL, 10) : 0;
    if (pid <= 1 || start == 0)
        return 0;
    unsigned long long now = start_time((pid_t)pid);
    bool same = now == start || (now && PLANTED(simfabric_start_ignored));
    return same ? (pid_t)pid : 0;
}

bool instance_is_there(const struct instance *instance)
{
    struct stat status;
    return lstat(instance->folder, &status) == 0 && S_ISDIR(status.st_mode);
}

/* ------------------------------------------------------------------ making and removing */

static void name_base(const struct instance *instance, char *out)
{
    snprintf(out, INSTANCE_PATH, "%s", instance->folder);
    *strrchr(out, '/') = '\0';
}

static bool make_base(const char *base)
{
    struct stat status;
    if (mkdir(base, 0700) != 0 && errno != EEXIST)
        return false;
    /* In a folder of somebody else, such as one in /tmp, nothing is safe. */
    if (lstat(base, &status) != 0)
        return false;
    if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & 022)) {
        errno = EPERM;
        return false;
    }
    return true;
}

/* Until the descriptor is closed no other command makes or removes a fabric: one that looked who
 * runs it acts on what it saw. -1, errno says why. */
static int hold(const char *base)
{
    int fd = open(base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    while (fd >= 0 && !PLANTED(simfabric_claims_unheld) && flock(fd, LOCK_EX) != 0) {
        if (errno == EINTR)
            continue;
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

static bool let_go(int held, bool done)
{
    int error = errno;
    if (held >= 0)
        close(held);
    errno = error;
    return done;
}

static bool remove_dead(const struct instance *instance)
{
    assert(strstr(instance->folder, "/simfabric"));
    if (instance_runner(instance) != 0 && !PLANTED(simfabric_cleans_the_living)) {
        errno = EBUSY;
        return false;
    }
    return tree_delete(instance->folder);
}

bool instance_claim(const struct instance *instance)
{
    char base[INSTANCE_PATH];
    name_base(instance, base);
    int held = make_base(base) ? hold(base) : -1;
    return let_go(held, held >= 0 && remove_dead(instance) && mkdir(instance->folder, 0700) == 0 &&
                            instance_write(instance, getpid()));
}

bool instance_keep(const struct instance *instance, const char *text, size_t length)
{
    assert(instance && text);
    FILE *file = fopen(instance->topology, "we");
    if (!file)
        return false;
    bool written = fwrite(text, 1, length, file) == length;
    return fclose(file) == 0 && written;
}

bool instance_clean(const struct instance *instance)
{
    char base[INSTANCE_PATH];
    name_base(instance, base);
    int held = hold(base);
    return let_go(held, held >= 0 && remove_dead(instance));
}

bool instance_end(const struct instance *instance)
{
    char base[INSTANCE_PATH];
    name_base(instance, base);
    assert(strstr(instance->folder, "/simfabric"));
    int held = hold(base); /* before anything is removed: arguments have no order */
    return let_go(held, tree_delete(instance->folder));
}

bool instance_tree(const struct instance *instance, const char *node, char *out, size_t size)
{
    assert(instance && node && out);
    int length = snprintf(out, size, "%s/nodes/%s/sys", instance->folder, node);
    return length > 0 && (size_t)length < size;
}
