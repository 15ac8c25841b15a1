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

/* `fix` null: as the error table says. */
static void fail(struct cli *cli, enum fabric_error error, enum cli_exit code, const char *fix,
                 const char *detail)
{
    assert(cli && error && detail);
    const struct error_info *info = error_info(error);
    cli_say(cli, "%s: %s", info->name, detail);
    if (!fix) {
        fprintf(cli->host->err, "  meaning: ");
        cli_wrap(cli->host->err, info->text, 11, cli->host->columns);
    }
    fprintf(cli->host->err, "  to do:   ");
    cli_wrap(cli->host->err, fix ? fix : info->fix, 11, cli->host->columns);
    json_t *object = net_error_object(error, detail, fix);
    net_set(object, "exit", json_integer(code));
    print_error(cli, object);
}

enum cli_exit cli_fail(struct cli *cli, enum fabric_error error, const char *format, ...)
{
    char detail[DETAIL];
    va_list args;
    assert(error && format);
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    fail(cli, error, cli_exit_of(error), NULL, detail);
    return cli_exit_of(error);
}

enum cli_exit cli_fail_as(struct cli *cli, enum fabric_error error, enum cli_exit code,
                          const char *fix, const char *format, ...)
{
    char detail[DETAIL];
    va_list args;
    assert(code != CLI_DONE && format);
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    fail(cli, error, code, fix, detail);
    return code;
}

const char *cli_file_reason(enum fabric_error error)
{
    switch (error) {
    case ERR_NOT_FOUND:
        return "there is no such file or folder";
    case ERR_ACCESS_DENIED:
        return "this user may not use it";
    case ERR_INVALID_ARGUMENT:
        return "it is a folder, or no name of a file";
    case ERR_TOO_LARGE:
        return "it is too large";
    case ERR_STORE_FULL:
        return "there is no room where it lies";
    case ERR_READ_ONLY:
        return "it lies where nothing may be written";
    default:
        return error_info(error)->text;
    }
}

enum cli_exit cli_fail_file(struct cli *cli, enum fabric_error error, const char *path,
                            const char *what)
{
    assert(path && what);
    return cli_fail_as(cli, error, CLI_CONFIG,
                       "Name another file, or mend what is said of this one.", "%s: %s: %s", path,
                       what, cli_file_reason(error));
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
    print_error(cli, json_pack("{s:s, s:o, s:i}", "name", "usage", "detail", net_string(detail),
                               "exit", (int)CLI_USAGE));
    return CLI_USAGE;
}

bool cli_flush(const struct cli_host *host)
{
    assert(host && host->out && host->err);
    errno = 0;
    bool flushed = fflush(host->out) == 0;
    bool before = ferror(host->out) && !PLANTED(cli_write_forgotten); /* what is no longer held */
    if ((flushed && !before) || PLANTED(cli_write_unchecked))
        return true;
    fprintf(host->err, "memkv: cannot write to standard output: %s\n",
            flushed ? "some of it is lost" : strerror(errno));
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
