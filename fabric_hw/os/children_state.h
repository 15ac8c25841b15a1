/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of children share.
 */
#ifndef FABRIC_HW_OS_CHILDREN_STATE_H
#define FABRIC_HW_OS_CHILDREN_STATE_H

#include <sys/types.h>

#include "fabric_hw/os/children.h"

#define CHILDREN_MAX 32
#define CHILDREN_LOCKS 4

struct lines { /* bytes read and not yet told, by lines */
    int fd;    /* -1: closed */
    char *data;
    size_t begin, length, room;
};

struct child {
    bool used, hang_up, told;
    pid_t pid; /* -1: its exit was taken */
    int pidfd, in, status;
    struct lines said, complained;
    char *queue; /* for its standard input */
    size_t sent, queued, room;
};

struct children {
    struct child list[CHILDREN_MAX];
    size_t count;
    bool parent, own_told;
    struct lines own;
    int locks[CHILDREN_LOCKS];
    size_t lock_count;
};

uint64_t os_children_now(void *context);
/* Fills in the members of *host about files: children_file.c. */
void os_children_files(struct remote_host *host);
/* Those about this process: children_self.c. */
void os_children_self(struct remote_host *host);

#endif
