/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/output.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/planted.h"

#define DETAIL CLI_PROBLEM

void cli_print(struct cli *cli, const char *format, ...)
{
    va_list args;
    assert(cli && format);
    va_start(args, format);
    vfprintf(cli->host->out, format, args);
    va_end(args);
}

static void write_to(void *context, const char *bytes, size_t length)
{
    fwrite(bytes, 1, length, context);
}

struct net_output cli_output(FILE *file)
{
    assert(file);
    return (struct net_output){file, write_to};
}

void cli_print_json(struct cli *cli, json_t *object)
{
    const struct net_output out = cli_output(cli->host->out);
    net_print_json(&out, object, cli->arguments->pretty);
}

void cli_say(struct cli *cli, const char *format, ...)
{
    va_list args;
    assert(cli && format);
    fprintf(cli->host->err, "memkv: ");
    va_start(args, format);
    vfprintf(cli->host->err, format, args);
    va_end(args);
    fprintf(cli->host->err, "\n");
}

/* Takes the reference. */
static void print_error(struct cli *cli, json_t *error)
{
    assert(error);
    if (cli->arguments->json)
        cli_print_json(cli, json_pack("{s:b, s:o}", "ok", 0, "error", error));
    else
        json_decref(error);
}

enum cli_exit cli_fail(struct cli *cli, enum fabric_error error, const char *format, ...)
{
    char detail[DETAIL];
    va_list args;
    assert(cli && error && format);
    const struct error_info *info = error_info(error);
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    cli_say(cli, "%s: %s", info->name, detail);
    fprintf(cli->host->err, "  meaning: ");
    cli_wrap(cli->host->err, info->text, 11, cli->host->columns);
    fprintf(cli->host->err, "  to do:   ");
    cli_wrap(cli->host->err, info->fix, 11, cli->host->columns);
    print_error(cli, net_error_object(error, detail, NULL));
    return cli_exit_of(error);
}

enum cli_exit cli_usage(struct cli *cli, const char *format, ...)
{
    char detail[DETAIL];
    va_list args;
    assert(cli && format);
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    cli_say(cli, "%s", detail);
    print_error(cli, json_pack("{s:s, s:s, s:i}", "name", "usage", "detail", detail, "exit",
                               (int)CLI_USAGE));
    return CLI_USAGE;
}

bool cli_flush(const struct cli_host *host)
{
    assert(host && host->out && host->err);
    errno = 0;
    if (fflush(host->out) == 0 || PLANTED(cli_write_unchecked))
        return true;
    fprintf(host->err, "memkv: cannot write to standard output: %s\n", strerror(errno));
    return false;
}

void cli_wrap(FILE *to, const char *text, unsigned indent, unsigned columns)
{
    assert(to && text);
    unsigned room = columns > indent + 20 ? columns - indent : 0, used = 0;
    while (*text) {
        size_t word = strcspn(text, " ");
        if (used && room && used + 1 + word > room) {
            fprintf(to, "\n%*s", (int)indent, "");
            used = 0;
        }
        fprintf(to, "%s%.*s", used ? " " : "", (int)word, text);
        used += (unsigned)word + (used ? 1 : 0);
        text += word + strspn(text + word, " ");
    }
    fprintf(to, "\n");
}
