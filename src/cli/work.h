/* SPDX-License-Identifier: Apache-2.0 */
/* A command that is a client: requests one after the other, or many at once, until it is done.
 * Several works are as many clients, each on a thread of its own; they share nothing but `cli`. */
#ifndef SRC_CLI_WORK_H
#define SRC_CLI_WORK_H

#include "src/cli/settings.h"
#include "src/client/api.h"

struct cli_work {
    struct cli *cli;
    struct client_config config;
    struct fabric *fabric;
    struct client *client; /* null before the start and after the end */
    void *context;         /* of the command */
    const char *transport; /* above file and environment; null: theirs holds */
    bool one_server;       /* it speaks of one: several are wrong usage */
    /* The client is there: submits what there is to do. */
    void (*begin)(struct cli_work *work);
    /* A request has ended; may submit more, or end the work. */
    void (*completed)(struct cli_work *work, const struct client_completion *completion);
    /* What has completed so far was told; may submit more. Null: nothing. */
    void (*drained)(struct cli_work *work);
    /* A signal came, perhaps not the first: ends the work now or soon. Null: it ends at once. */
    void (*interrupted)(struct cli_work *work);
    struct client_completion last; /* what ended the work; its server is of `config` */
    bool done, cancelled;
    enum fabric_error error; /* the first failure */
};

/* Reads the configuration and runs to the end; false when it did not come to one: *code says why,
 * and it was said. work->error is for the command to judge. */
bool cli_work_run(struct cli_work *work, enum cli_exit *code);
/* The same with `count` works at once, which have the first one's cli, transport and one_server;
 * more than one have `interrupted`. True when every one came to its end. */
bool cli_works_run(struct cli_work *works, size_t count, enum cli_exit *code);

/* Submits one request; a refusal ends the work. The key has at most CLIENT_MAX_KEY bytes. */
void cli_work_submit(struct cli_work *work, enum client_kind kind, const char *key, void *data,
                     uint64_t length, uint64_t cookie);
/* Ends the work; FABRIC_OK when it was done. */
void cli_work_end(struct cli_work *work, enum fabric_error error);
/* The same with what a completion says. */
void cli_work_end_by(struct cli_work *work, const struct client_completion *completion);

/* Says why the work has failed, with the server and the class of the outcome. */
enum cli_exit cli_work_fail(struct cli_work *work, const char *what);

#endif
