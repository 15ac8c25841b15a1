/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simfabric: a simulated InfiniBand fabric for programs that use verbs. The words of its command
 * line, and the file of the topology; what a command does stands in fabric_sim/simfabric.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "programs/simfabric/make.h"
#include "src/config/nearest.h"

int words_usage(const char *what, const char *word)
{
    fprintf(stderr, "simfabric: %s%s%s; see `simfabric help`\n", what, word ? " " : "",
            word ? word : "");
    return SIMFABRIC_USAGE;
}

static bool read_whole(const char *text, uint64_t *out)
{
    char *end;
    if (text[0] < '0' || text[0] > '9')
        return false;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return *end == '\0' && errno == 0;
}

static int read_size(const char *option, const char *text, unsigned long *out)
{
    uint64_t number = 0;
    if (!read_whole(text, &number) || number == 0 || number > UINT32_MAX) {
        fprintf(stderr, "simfabric: %s takes a whole number from 1, not '%s'\n", option, text);
        return SIMFABRIC_USAGE;
    }
    *out = (unsigned long)number;
    return SIMFABRIC_DONE;
}

/* The value of an option at argv[*i]: "--option VALUE" or "--option=VALUE", empty where it is left
 * out; null: another word. */
static const char *value_of(const char *option, char **argv, int *i)
{
    size_t length = strlen(option);
    if (strncmp(argv[*i], option, length) != 0)
        return NULL;
    if (argv[*i][length] == '=')
        return argv[*i] + length + 1;
    if (argv[*i][length] != '\0')
        return NULL;
    return argv[*i + 1] ? argv[++*i] : "";
}

static const char *const options[] = {"--name",     "--node",  "--seed",   "--foreground",
                                      "--attached", "--json",  "--pretty", "--format",
                                      "--nodes",    "--radix", "--rails",  "--help"};
#define OPTIONS (sizeof(options) / sizeof(options[0]))

void option_names(FILE *out)
{
    for (size_t i = 0; i < OPTIONS; i++)
        fprintf(out, "%s%s", i ? " " : "", options[i]);
}

static int read_option(char **argv, int *i, struct words *out)
{
    const char *option = argv[*i], *value;
    if (strcmp(option, "--help") == 0 || strcmp(option, "-h") == 0) {
        out->help = true;
    } else if (strcmp(option, "--foreground") == 0) {
        out->foreground = true;
    } else if (strcmp(option, "--attached") == 0) {
        out->attached = true;
    } else if (strcmp(option, "--json") == 0 || strcmp(option, "-j") == 0) {
        out->json = true;
    } else if (strcmp(option, "--pretty") == 0 || strcmp(option, "-p") == 0) {
        out->json = out->pretty = true;
    } else if ((value = value_of("--format", argv, i))) {
        out->format = value;
    } else if ((value = value_of("--name", argv, i))) {
        out->name = value;
    } else if ((value = value_of("--node", argv, i))) {
        out->node = value;
    } else if ((value = value_of("--nodes", argv, i))) {
        return read_size("--nodes", value, &out->nodes);
    } else if ((value = value_of("--radix", argv, i))) {
        return read_size("--radix", value, &out->radix);
    } else if ((value = value_of("--rails", argv, i))) {
        return read_size("--rails", value, &out->rails);
    } else if ((value = value_of("--seed", argv, i))) {
        out->has_seed = read_whole(value, &out->seed);
        if (!out->has_seed)
            return words_usage("--seed takes a whole number below 2^64, not", value);
    } else {
        const char *near = nearest_name(option, options, OPTIONS);
        fprintf(stderr, "simfabric: there is no option '%s'%s%s; see `simfabric help`\n", option,
                near ? ": did you mean " : "", near ? near : "");
        return SIMFABRIC_USAGE;
    }
    return SIMFABRIC_DONE;
}

static int read_words(char **argv, struct words *out)
{
    out->arguments = argv; /* they are moved to the front */
    for (int i = 1; argv[i]; i++) {
        if (strcmp(argv[i], "--") == 0) {
            out->program = &argv[i + 1];
            break;
        }
        if (argv[i][0] == '-' && argv[i][1]) { /* "-" is a file */
            int status = read_option(argv, &i, out);
            if (status != SIMFABRIC_DONE)
                return status;
        } else if (!out->command) {
            out->command = argv[i];
        } else {
            out->arguments[out->count++] = argv[i];
        }
    }
    return SIMFABRIC_DONE;
}

/* Unpredictable, so that numbers of one fabric are no use in another. */
static bool draw_seed(uint64_t *out)
{
    FILE *file = fopen("/dev/urandom", "re");
    bool drawn = file && fread(out, sizeof(*out), 1, file) == 1;
    if (file)
        fclose(file);
    return drawn;
}

static int up(const struct instance *instance, const struct words *words)
{
    struct topology_file file;
    struct simfabric_up command = {.instance = instance,
                                   .seed = words->seed,
                                   .foreground = words->foreground || words->attached,
                                   .attached = words->attached};
    if (!words->has_seed && !draw_seed(&command.seed)) {
        simfabric_complain(ERR_INTERNAL, "the system gives no random number");
        return SIMFABRIC_INTERNAL;
    }
    if (!topology_file_read(words->count ? words->arguments[0] : ".", &file))
        return SIMFABRIC_CONFIG;
    command.topology = file.topology;
    command.source = file.text.data;
    command.source_length = file.text.length;
    int status = simfabric_up(&command);
    topology_file_free(&file);
    return status;
}

static int down(const struct instance *instance, const struct words *words)
{
    (void)words;
    return simfabric_down(instance);
}

static const struct command {
    const char *name;
    int (*carry_out)(const struct instance *instance, const struct words *words);
    size_t arguments; /* at most */
} commands[] = {{"up", up, 1},
                {"exec", words_exec, 0},
                {"shell", words_shell, 0},
                {"completion", words_completion, 1},
                {"ctl", words_ctl, SIZE_MAX},
                {"status", words_status, 0},
                {"inspect", words_inspect, 1},
                {"graph", words_graph, 0},
                {"generate", words_generate, 1},
                {"validate", words_validate, 1},
                {"down", down, 0}};

static int unknown(const char *command)
{
    const char *near = help_nearest(command);
    fprintf(stderr, "simfabric: there is no command '%s'%s%s; see `simfabric help`\n", command,
            near ? ": did you mean " : "", near ? near : "");
    return SIMFABRIC_USAGE;
}

static int carry_out(const struct instance *instance, const struct words *words)
{
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        const struct command *command = &commands[i];
        if (strcmp(command->name, words->command) != 0)
            continue;
        if (words->program && command->carry_out != words_exec)
            return words_usage("only exec takes a program after --", NULL);
        if (words->count > command->arguments)
            return words_usage("one word too many:", words->arguments[command->arguments]);
        return command->carry_out(instance, words);
    }
    return unknown(words->command);
}

/* Of one command where one is named: "help ctl", "ctl --help". */
static int help(const struct words *words)
{
    const char *command = words->command;
    if (command && strcmp(command, "help") == 0)
        command = words->count ? words->arguments[0] : NULL;
    return help_print(command) ? SIMFABRIC_DONE : unknown(command);
}

/* What was printed has arrived, or the status says that it has not. */
static int flushed(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    fprintf(stderr, "simfabric: cannot write to standard output: %s\n", strerror(errno));
    return status == SIMFABRIC_DONE ? SIMFABRIC_INTERNAL : status;
}

int main(int argc, char **argv)
{
    struct words words = {.name = "default"};
    struct instance instance;
    int status = argc > 0 ? read_words(argv, &words) : SIMFABRIC_USAGE;
    if (status != SIMFABRIC_DONE)
        return status;
    if (words.help || (words.command && strcmp(words.command, "help") == 0))
        return flushed(help(&words));
    if (!words.command)
        return words_usage("it needs a command", NULL);
    if (!instance_at(&instance, words.name, getenv("XDG_RUNTIME_DIR")))
        return words_usage("a name of a fabric has letters, digits, '-', '_' and '.', not",
                           words.name);
    return flushed(carry_out(&instance, &words));
}
