/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of memkv; each is run by one function of a file of its own name. */
#ifndef SRC_CLI_COMMANDS_H
#define SRC_CLI_COMMANDS_H

#include "src/cli/output.h"

extern const struct cli_command cli_commands[]; /* ends with an object of null */

enum cli_exit cli_run_start(struct cli *cli);
enum cli_exit cli_run_put(struct cli *cli);
enum cli_exit cli_run_get(struct cli *cli);
enum cli_exit cli_run_exists(struct cli *cli);
enum cli_exit cli_run_rm(struct cli *cli);
enum cli_exit cli_run_net_show(struct cli *cli);
enum cli_exit cli_run_verify(struct cli *cli);
enum cli_exit cli_run_net_ipoib(struct cli *cli);
enum cli_exit cli_run_status(struct cli *cli);
enum cli_exit cli_run_setup(struct cli *cli);
enum cli_exit cli_run_bench(struct cli *cli);
enum cli_exit cli_run_explain(struct cli *cli);
enum cli_exit cli_run_help(struct cli *cli);
enum cli_exit cli_run_completion(struct cli *cli);

/* help.c: what the tables say. */
void cli_help_program(struct cli *cli);
void cli_help_object(struct cli *cli, const char *object);
void cli_help_command(struct cli *cli, const struct cli_command *command);

#endif
