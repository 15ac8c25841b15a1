/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "src/cli/setup.h"
#include "src/fabric/planted.h"

#define FILE_MAX 65536u /* bytes of a file of /proc */
#define SECTOR 512u     /* what the kernel counts sizes of drives in, whatever their own is */

/* The whole of a text, ended by a NUL; the caller frees it. Null: it cannot be read. */
static char *slurp(struct fabric *f, const char *path)
{
    size_t length = 0;
    assert(f && path[0] == '/');
    char *text = malloc(FILE_MAX + 1);
    if (!text || fabric_sysfile_read(f, path, text, FILE_MAX, &length)) {
        free(text);
        return NULL;
    }
    text[length] = '\0';
    return text;
}

/* The number after "NAME:" in a text of lines; false when there is none. */
static bool number_after(const char *text, const char *name, uint64_t *out)
{
    const size_t length = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, length) != 0)
            continue;
        char word[32] = "";
        const char *at = line + length + strspn(line + length, " \t");
        const size_t digits = strcspn(at, " \t\n");
        if (digits >= sizeof word)
            return false;
        memcpy(word, at, digits);
        return sysfile_parse(word, UINT64_MAX >> 12, out);
    }
    return false;
}

static void read_memory(struct fabric *f, struct setup_machine *m)
{
    char *text = slurp(f, "/proc/meminfo");
    if (!text)
        return;
    (void)(number_after(text, "MemTotal:", &m->memory) &&
           number_after(text, "MemAvailable:", &m->available) &&
           number_after(text, "HugePages_Total:", &m->huge_pages) &&
           number_after(text, "HugePages_Free:", &m->huge_free) &&
           number_after(text, "Hugepagesize:", &m->huge_size));
    m->memory *= 1024;
    m->available *= 1024;
    m->huge_size *= 1024;
    free(text);
}

static void read_memlock(struct fabric *f, struct setup_machine *m)
{
    static const char name[] = "Max locked memory";
    char *text = slurp(f, "/proc/self/limits");
    const char *line = text ? strstr(text, name) : NULL;
    m->memlock = UINT64_MAX;
    if (line)
        m->memlock_known =
            strncmp(line + strlen(name) + strspn(line + strlen(name), " "), "unlimited", 9) == 0 ||
            number_after(line, name, &m->memlock);
    free(text);
}

/* ------------------------------------------------------------------ file systems */

/* The next word of a line, in `out`; false when it has no room, or there is none. */
static bool word(const char **at, char *out, size_t room)
{
    *at += strspn(*at, " \t");
    const size_t length = strcspn(*at, " \t\n");
    assert(room > 1);
    if (length == 0 || length >= room)
        return false;
    memcpy(out, *at, length);
    out[length] = '\0';
    *at += length;
    return true;
}

static bool can_hold_files(const char *type)
{
    static const char *const types[] = {"ext4", "xfs", "btrfs", "ext3", "ext2", "f2fs", "zfs"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(types[i], type) == 0)
            return true;
    }
    return false;
}

static void read_mounts(struct setup_machine *m, const char *text)
{
    for (const char *line = text; line && *line && m->mount_count < SETUP_MAX_MOUNTS;) {
        struct setup_mount *mount = &m->mounts[m->mount_count];
        const char *at = line;
        char options[8] = "";
        *mount = (struct setup_mount){.read_only = false};
        if (word(&at, mount->source, sizeof mount->source) &&
            word(&at, mount->at, sizeof mount->at) && word(&at, mount->type, sizeof mount->type) &&
            can_hold_files(mount->type)) {
            at += strspn(at, " ");
            memcpy(options, at, strnlen(at, 3));
            mount->read_only = strncmp(options, "ro", 2) == 0 && (!options[2] || options[2] == ',');
            m->mount_count++;
        }
        line = strchr(line, '\n');
        line += line != NULL;
    }
}

/* ------------------------------------------------------------------ drives */

static bool drive_number(struct fabric *f, const char *drive, const char *file, uint64_t most,
                         uint64_t *out)
{
    char path[FABRIC_PATH_MAX];
    snprintf(path, sizeof path, "/sys/block/%.63s/%s", drive, file);
    return sysfile_number(f, path, most, out) == FABRIC_OK;
}

/* Whether a device of this name, or a partition of it, begins `line`. */
static bool names_drive(const char *line, const char *drive)
{
    const size_t length = strlen(drive);
    assert(length > 0);
    if (strncmp(line, "/dev/", 5) != 0 || strncmp(line + 5, drive, length) != 0)
        return false;
    const char *rest = line + 5 + length;
    const bool numbered = drive[length - 1] >= '0' && drive[length - 1] <= '9';
    if (!numbered || *rest == 'p') { /* sda1, nvme0n1p1; nvme0n10 is another drive */
        rest += numbered;
        rest += strspn(rest, "0123456789");
    }
    return *rest == ' ' || *rest == '\t';
}

/* The line that begins with it; null when there is none. */
static const char *line_of(const char *text, const char *drive)
{
    for (const char *line = text; line && *line;) {
        if (names_drive(line, drive))
            return line;
        line = strchr(line, '\n');
        line += line != NULL;
    }
    return NULL;
}

/* The first name in a folder of the drive that begins so; an empty one otherwise. */
static void name_in(struct fabric *f, const struct setup_drive *d, const char *folder,
                    const char *begins, char out[FABRIC_NAME_MAX])
{
    char path[FABRIC_PATH_MAX], names[SYSFILE_NAMES];
    size_t length = 0;
    out[0] = '\0';
    snprintf(path, sizeof path, "/sys/block/%.63s%s", d->name, folder);
    if (sysfile_names(f, path, names, &length))
        return;
    for (size_t at = 0; at < length && !out[0]; at += strlen(names + at) + 1) {
        if (strncmp(names + at, begins, strlen(begins)) == 0 && sysfile_name_ok(names + at))
            memcpy(out, names + at, strlen(names + at) + 1);
    }
}

static void judge_drive(struct fabric *f, struct setup_drive *d, const char *mounts,
                        const char *swaps)
{
    char found[FABRIC_NAME_MAX], at[SYSFILE_LINE] = "";
    uint64_t read_only = 0;
    const char *mounted = mounts ? line_of(mounts, d->name) : NULL;
    assert(!d->used[0]);
    if (mounted) {
        const char *rest = strchr(mounted, ' ');
        if (rest && word(&rest, at, sizeof at))
            snprintf(d->used, sizeof d->used, "mounted at %.120s", at);
    } else if (swaps && line_of(swaps, d->name)) {
        snprintf(d->used, sizeof d->used, "used for swap");
    }
    if (d->used[0])
        return;
    name_in(f, d, "", d->name, found);
    if (found[0]) {
        snprintf(d->used, sizeof d->used, "has partitions (%s)", found);
        return;
    }
    name_in(f, d, "/holders", "", found);
    if (found[0])
        snprintf(d->used, sizeof d->used, "a part of %s", found);
    else if (drive_number(f, d->name, "ro", 1, &read_only) && read_only)
        snprintf(d->used, sizeof d->used, "read-only");
    else if (d->removable)
        snprintf(d->used, sizeof d->used, "removable");
}

static bool is_drive(const char *name)
{
    static const char *const others[] = {"loop", "ram", "zram", "sr", "fd", "nbd"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (strncmp(name, others[i], strlen(others[i])) == 0)
            return false;
    }
    return sysfile_name_ok(name);
}

static void read_drive(struct fabric *f, const char *name, const char *mounts, const char *swaps,
                       struct setup_machine *m)
{
    struct setup_drive *d = &m->drives[m->drive_count];
    char path[FABRIC_PATH_MAX];
    uint64_t number = 0;
    assert(m->drive_count < SETUP_MAX_DRIVES);
    *d = (struct setup_drive){.numa_node = -1};
    memcpy(d->name, name, strlen(name) + 1);
    if (!drive_number(f, name, "size", UINT64_MAX / SECTOR, &number) || number == 0)
        return; /* no medium in it */
    d->bytes = number * SECTOR;
    d->rotational = drive_number(f, name, "queue/rotational", 1, &number) && number;
    d->removable = drive_number(f, name, "removable", 1, &number) && number;
    if (drive_number(f, name, "device/numa_node", 4095, &number) ||
        drive_number(f, name, "device/device/numa_node", 4095, &number))
        d->numa_node = (int64_t)number;
    snprintf(path, sizeof path, "/sys/block/%.63s/device/model", name);
    (void)sysfile_line(f, path, d->model);
    judge_drive(f, d, PLANTED(cli_setup_mounts_ignored) ? NULL : mounts, swaps);
    m->drive_count++;
}

static void read_drives(struct fabric *f, struct setup_machine *m)
{
    char names[SYSFILE_NAMES];
    size_t length = 0;
    char *mounts = slurp(f, "/proc/mounts"), *swaps = slurp(f, "/proc/swaps");
    if (mounts)
        read_mounts(m, mounts);
    if (sysfile_names(f, "/sys/block", names, &length))
        length = 0;
    for (size_t at = 0; at < length && m->drive_count < SETUP_MAX_DRIVES;
         at += strlen(names + at) + 1) {
        if (is_drive(names + at))
            read_drive(f, names + at, mounts, swaps, m);
    }
    free(mounts);
    free(swaps);
}

void setup_read(struct fabric *f, struct setup_machine *out)
{
    assert(f && out);
    memset(out, 0, sizeof *out);
    (void)sysfile_line(f, "/sys/devices/system/cpu/online", out->processors);
    (void)sysfile_line(f, "/sys/devices/system/node/online", out->numa_nodes);
    read_memory(f, out);
    read_memlock(f, out);
    read_drives(f, out);
    net_model_read(f, NULL, NULL, 0, &out->net);
}

void setup_free(struct setup_machine *machine)
{
    assert(machine);
    net_model_free(&machine->net);
}
