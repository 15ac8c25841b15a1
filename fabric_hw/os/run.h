/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program (src/fabric/program.h) in this process: started on a fabric, driven by its events, told
 * commands and signals, stopped.
 *
 *     error = os_run_start(f, &init, &run);
 *     os_run_tell(run, "{\"id\":1,\"op\":\"put\",...}");
 *     end = os_run_until(run, FABRIC_FOREVER);     asks done() before it waits
 *     os_run_stop(run);
 *     fabric_destroy(f);
 *
 * Threads: all of it belongs to the thread that uses the fabric, but for os_run_tell, which any
 * thread may call. Where signals are wanted, a thread of its own waits for them; no handler is
 * installed and nothing is changed for good.
 */
#ifndef FABRIC_HW_OS_RUN_H
#define FABRIC_HW_OS_RUN_H

#include "src/fabric/program.h"

enum os_run_signal {
    OS_RUN_INTERRUPT, /* SIGINT */
    OS_RUN_TERMINATE, /* SIGTERM */
    OS_RUN_HANGUP,    /* SIGHUP */
};

enum os_run_end {
    OS_RUN_DONE,     /* `done` said so */
    OS_RUN_SIGNAL,   /* `signal` had no command for a signal: end at once */
    OS_RUN_DEADLINE, /* it is over */
    OS_RUN_FAILED,   /* fabric_poll failed; the fabric has logged why */
};

struct os_run_init {
    const struct fabric_program *program;
    const char *config; /* text; needed only during the start */
    size_t config_length;
    struct fabric_report_sink sink; /* called in the loop's thread, also during the start */
    /* Whether the run is to end now; asked before it waits and after every command. Null: never. */
    bool (*done)(void *context);
    /* A signal came: how the program is told, one line for its command, which is copied; "": there
     * is nothing to tell; null: the run ends at once. A null function: signals keep their usual
     * effect. */
    const char *(*signal)(void *context, enum os_run_signal signal);
    void *context; /* of the two above */
};

struct os_run;

/* Starts the program. SIGINT, SIGTERM and SIGHUP are blocked in the calling thread from here until
 * os_run_stop, and SIGPIPE with them, when `signal` is there. Errors: the program's, after which
 * nothing is left behind, and resources_exhausted. `f` stays the caller's. */
enum fabric_error os_run_start(struct fabric *f, const struct os_run_init *init,
                               struct os_run **out);

/* Queues a command (copied); the program is told by os_run_until, in order. Any thread. False when
 * memory is out. */
bool os_run_tell(struct os_run *run, const char *json);

/* Lets the program work until something ends it, at most to `deadline` (ns, monotonic). May be
 * called again whatever it returned. */
enum os_run_end os_run_until(struct os_run *run, uint64_t deadline);

/* Lets the program release everything and frees the run. Commands not yet told are dropped; signals
 * have their usual effect again, also those that came and were not told. */
void os_run_stop(struct os_run *run);

#endif
