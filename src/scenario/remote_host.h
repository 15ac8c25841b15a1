/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What runs on machines need of the machine that they run on: child processes that are talked to by
 * lines, commands, a few files, a lock. The runner has one of these with an agent for each node,
 * and each agent has one with its node's program. fabric_hw/os/children.h carries it.
 */
#ifndef SRC_SCENARIO_REMOTE_HOST_H
#define SRC_SCENARIO_REMOTE_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REMOTE_DETAIL 256
#define REMOTE_LINE (1u << 20)    /* bytes of a line, at most */
#define REMOTE_QUEUED (96u << 20) /* bytes that wait for a child to read them, at most */
#define REMOTE_WORDS 32           /* of a command, at most, with the final null */

enum remote_event {
    REMOTE_SAID,         /* a line of a child's standard output */
    REMOTE_COMPLAINED,   /* a line of its standard error */
    REMOTE_ENDED,        /* a child ended; it said everything before; `status` */
    REMOTE_PARENT_SAID,  /* a line of our own standard input */
    REMOTE_PARENT_ENDED, /* our standard input is closed; once */
    REMOTE_DEADLINE,     /* the time has come, or a signal: ask why */
};

struct remote_input {
    enum remote_event type;
    int child;
    const char *line; /* without its newline; valid until the next wait */
    int status;       /* ENDED: exit code, 128 + signal */
};

enum remote_signal {
    REMOTE_KILL,
    REMOTE_FREEZE,
    REMOTE_THAW,
};

struct remote_host {
    void *context;
    /* now: monotonic ns. */
    uint64_t (*now)(void *context);
    /* spawn: runs words[0] with the words up to a null, in a process group of its own. Where we are
     * told lines by a parent it ends with us; else it may have things to take back, and only sees
     * its standard input end. Returns the child's number, from 1; 0 and a sentence in `detail`
     * (REMOTE_DETAIL bytes) when it cannot be run. */
    int (*spawn)(void *context, const char *const *words, char *detail);
    /* send: a line to the child's standard input, a newline is added. It is copied and never waits;
     * false when the child is gone or REMOTE_QUEUED is reached. */
    bool (*send)(void *context, int child, const char *line);
    /* say: a line to our own standard output; false when nobody reads it. May wait. */
    bool (*say)(void *context, const char *line);
    /* signal: to the child and what it started. */
    void (*signal)(void *context, int child, enum remote_signal signal);
    /* hang_up: closes its standard input, after what was sent; it still says what it says. */
    void (*hang_up)(void *context, int child);
    /* end: as hang_up; whoever has not ended after `patience` ns is killed. Nothing more is told of
     * it; the number is free. */
    void (*end)(void *context, int child, uint64_t patience);
    /* wait: until something of the above happens or `deadline`. */
    void (*wait)(void *context, uint64_t deadline, struct remote_input *out);
    /* run: a command to its end, at most `patience` ns, then it is killed. Returns its exit code,
     * 128
     * + signal, -1 when it could not be run or took too long. The beginning of what it said, one
     * line, is in `said` (`capacity` bytes). Waits; lines of children wait too. */
    int (*run)(void *context, const char *const *words, uint64_t patience, char *said,
               size_t capacity);
    /* read: a whole file, up to `capacity` - 1 bytes, with a final NUL; false when there is none.
     */
    bool (*read)(void *context, const char *path, char *out, size_t capacity);
    /* append: `line` and a newline at the end of a file that is made if need be, on the disk when
     * it returns. It is a line of its own also after a piece of one that somebody could not write
     * to its end. */
    bool (*append)(void *context, const char *path, const char *line);
    /* write: `length` bytes at `offset` of a file that is made with its folders. */
    bool (*write)(void *context, const char *path, const void *data, size_t length,
                  uint64_t offset);
    /* replace: `text` is all that the file holds, on the disk; false, or whoever ends us meanwhile:
     * it is as before. */
    bool (*replace)(void *context, const char *path, const char *text);
    void (*remove)(void *context, const char *path); /* a file, or a folder with all in it */
    /* folder: makes it, with those above. False when it cannot be made, and where anybody else may
     * write in it; `append`, `write` and `lock` refuse such a folder too. */
    bool (*folder)(void *context, const char *path);
    /* lock: keeps others that ask for the same path out until this process ends. False: somebody
     * has it. */
    bool (*lock)(void *context, const char *path);
    /* process: a number that no other process of this machine has. */
    uint64_t (*process)(void *context);
    /* beside: the path of a program in the folder of ours, `capacity` bytes; false when there is no
     * such program. */
    bool (*beside)(void *context, const char *name, char *path, size_t capacity);
    /* own_network: this process and whom it makes from now on are alone in a network with nothing
     * but the loopback interface, in which they may do what root may. False and a sentence in
     * `detail` (REMOTE_DETAIL bytes) where the machine does not allow it; nothing has changed then.
     */
    bool (*own_network)(void *context, char *detail);
};

#endif
