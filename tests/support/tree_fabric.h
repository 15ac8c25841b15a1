/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fabric that serves system files out of a description (tests/net/trees/README.md tells its
 * form). Mode and MTU of IPoIB interfaces behave as the kernel's do. Time passes when it is polled,
 * up to the timer; where a test sets a port's attributes, the verbs answer with them. Every other
 * member answers not_supported.
 */
#ifndef TESTS_SUPPORT_TREE_FABRIC_H
#define TESTS_SUPPORT_TREE_FABRIC_H

#include "src/fabric/fabric.h"

struct tree_entry {
    char path[FABRIC_PATH_MAX]; /* absolute */
    enum { TREE_FILE, TREE_FOLDER, TREE_LINK, TREE_ERROR } kind;
    char *content; /* the file's bytes, or the link's target */
    size_t length;
    enum fabric_error error; /* that reading gives */
};

struct tree_fabric {
    struct fabric head;
    struct tree_entry *entries;
    size_t count, capacity;
    size_t bytes_read;      /* by sysfile_read */
    char written[1024];     /* "PATH=VALUE;" for each sysfile_write that was accepted */
    struct fabric_dcb dcb;  /* of every interface */
    bool keeps_mode;        /* a write of the mode is accepted and forgotten */
    bool keeps_mtu;         /* a write of the mode leaves the MTU alone, as in a plain folder */
    bool writes_refused;    /* access_denied, as without root */
    uint64_t now, deadline; /* ns; of the only timer */
    bool woken;             /* poll gives WOKEN before the timer */
    char netdev[FABRIC_NAME_MAX];   /* of every stream */
    enum fabric_error stream_error; /* that stream_local gives */
    char logged[1024];              /* the latest line */
    struct fabric_port_attr port;   /* of every device, where its port_num is set */
    uint32_t growth;                /* of its bad_pkey_cntr while the timer runs */
};

/* From the text of a description; a mistake in it aborts with its line. */
struct tree_fabric *tree_fabric_new(const char *description);
/* From a file, by its path below the root of the project. */
struct tree_fabric *tree_fabric_open(const char *path);
void tree_fabric_close(struct tree_fabric *tree);

/* Sets or adds a file; for mutations. */
void tree_set(struct tree_fabric *tree, const char *path, const void *content, size_t length);
void tree_set_text(struct tree_fabric *tree, const char *path, const char *text);
/* Removes a file, link or error; false when there is none. */
bool tree_remove(struct tree_fabric *tree, const char *path);

/* The whole of a text file, ending in NUL; the caller frees it. Aborts without the file. */
char *tree_slurp(const char *path);

#endif
