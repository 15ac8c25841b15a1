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

#include "fabric_sim/simfabric/command.h"
#include "src/config/nearest.h"
#include "src/scenario/files.h"
#include "src/scenario/topology_read.h"

static const char help[] =
    "usage: simfabric COMMAND [--name NAME] ...\n"
    "\n"
    "  up FILE               bring up the fabric that FILE describes (the topology of a scenario)\n"
    "     --foreground       stay, and end with Ctrl-C\n"
    "     --attached         stay as long as standard input does, and do not wait for the ports\n"
    "     --seed N           numbers and chance come from N instead of the system\n"
    "  exec --node NODE -- PROGRAM [ARGUMENT...]\n"
    "                        run a program on a node, with the node's RDMA devices\n"
    "  status                the ports of all nodes, and who uses them\n"
    "  down                  end the fabric and remove what it made\n"
    "  help                  this text\n"
    "\n"
    "  --name NAME           which fabric, where there are several (default: default)\n"
    "\n"
    "examples:\n"
    "  simfabric up examples/pair.yaml\n"
    "  simfabric exec --node n1 -- ibv_devinfo -v\n"
    "  simfabric exec --node n1 -- ibv_rc_pingpong &\n"
    "  simfabric exec --node n2 -- ibv_rc_pingpong 127.0.0.1\n"
    "  simfabric down\n"
    "\n"
    "exit status: 0 done, 1 internal, 2 usage, 3 the topology, 4 no such fabric is up; of\n"
    "exec: the program's own, 125 when it was not begun, 126 when it cannot run, 127 when it is "
    "not found\n";

struct words {
    const char *command, *name, *node, *file;
    uint64_t seed;
    bool has_seed, foreground, attached;
    char **program;
};

static int usage(const char *what, const char *word)
{
    fprintf(stderr, "simfabric: %s%s%s; see `simfabric help`\n", what, word ? " " : "",
            word ? word : "");
    return SIMFABRIC_USAGE;
}

static bool read_seed(const char *text, uint64_t *out)
{
    char *end;
    if (text[0] < '0' || text[0] > '9')
        return false;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return *end == '\0' && errno == 0;
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

static int read_option(char **argv, int *i, struct words *out)
{
    static const char *const names[] = {"--name",       "--node",     "--seed",
                                        "--foreground", "--attached", "--help"};
    const char *option = argv[*i], *value;
    if (strcmp(option, "--help") == 0 || strcmp(option, "-h") == 0) {
        out->command = "help";
    } else if (strcmp(option, "--foreground") == 0) {
        out->foreground = true;
    } else if (strcmp(option, "--attached") == 0) {
        out->attached = true;
    } else if ((value = value_of("--name", argv, i))) {
        out->name = value;
    } else if ((value = value_of("--node", argv, i))) {
        out->node = value;
    } else if ((value = value_of("--seed", argv, i))) {
        out->has_seed = read_seed(value, &out->seed);
        if (!out->has_seed)
            return usage("--seed takes a whole number below 2^64, not", value);
    } else {
        const char *near = nearest_name(option, names, sizeof(names) / sizeof(names[0]));
        fprintf(stderr, "simfabric: there is no option '%s'%s%s; see `simfabric help`\n", option,
                near ? ": did you mean " : "", near ? near : "");
        return SIMFABRIC_USAGE;
    }
    return SIMFABRIC_DONE;
}

static int read_words(char **argv, struct words *out)
{
    for (int i = 1; argv[i]; i++) {
        if (strcmp(argv[i], "--") == 0) {
            out->program = &argv[i + 1];
            break;
        }
        if (argv[i][0] == '-') {
            int status = read_option(argv, &i, out);
            if (status != SIMFABRIC_DONE)
                return status;
        } else if (!out->command) {
            out->command = argv[i];
        } else if (!out->file) {
            out->file = argv[i];
        } else {
            return usage("one word too many:", argv[i]);
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
    char detail[FILES_DETAIL];
    struct text text = {0};
    struct yaml_errors errors;
    struct arena arena = {0};
    struct simfabric_up command = {.instance = instance,
                                   .seed = words->seed,
                                   .foreground = words->foreground || words->attached,
                                   .attached = words->attached};
    if (!words->file)
        return usage("up needs the file of a topology", NULL);
    if (!words->has_seed && !draw_seed(&command.seed)) {
        simfabric_complain(ERR_INTERNAL, "the system gives no random number");
        return SIMFABRIC_INTERNAL;
    }
    if (!file_read(words->file, &text, detail)) {
        simfabric_complain(ERR_CONFIG_INVALID, "%s", detail);
        return SIMFABRIC_CONFIG;
    }
    yaml_errors_init(&errors, words->file);
    struct yaml_tree *tree = yaml_parse(text.data, text.length, &errors);
    command.topology = tree ? topology_read(yaml_root(tree), &arena, &errors) : NULL;
    for (size_t i = 0; i < errors.count; i++)
        fprintf(stderr, "%s\n", errors.items[i].text);
    int status = command.topology ? simfabric_up(&command) : SIMFABRIC_CONFIG;
    yaml_tree_free(tree);
    arena_free(&arena);
    free(text.data);
    return status;
}

static int exec(const struct instance *instance, const struct words *words)
{
    char plugin[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", plugin, sizeof(plugin) - 1);
    if (!words->node || !words->node[0])
        return usage("exec needs --node NODE", NULL);
    if (!words->program || !words->program[0])
        return usage("exec needs a program after --", NULL);
    if (words->file)
        return usage("one word too many:", words->file);
    if (length <= 0) {
        simfabric_complain(ERR_INTERNAL, "/proc does not say where this program is");
        return SIMFABRIC_EXEC_FAILED;
    }
    plugin[length] = '\0'; /* .../simfabric: the plug-in lies beside it */
    return simfabric_exec(instance, words->node, plugin, words->program);
}

static int unknown(const char *command)
{
    static const char *const names[] = {"up", "exec", "status", "down", "help"};
    const char *near = nearest_name(command, names, sizeof(names) / sizeof(names[0]));
    fprintf(stderr, "simfabric: there is no command '%s'%s%s; see `simfabric help`\n", command,
            near ? ": did you mean " : "", near ? near : "");
    return SIMFABRIC_USAGE;
}

static int carry_out(const struct instance *instance, const struct words *words)
{
    if (strcmp(words->command, "exec") == 0)
        return exec(instance, words);
    if (words->program)
        return usage("only exec takes a program after --", NULL);
    if (strcmp(words->command, "up") == 0)
        return up(instance, words);
    bool status = strcmp(words->command, "status") == 0;
    if (!status && strcmp(words->command, "down") != 0)
        return unknown(words->command);
    if (words->file)
        return usage("one word too many:", words->file);
    return status ? simfabric_status(instance) : simfabric_down(instance);
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
    if (!words.command)
        return usage("it needs a command", NULL);
    if (strcmp(words.command, "help") == 0) {
        fputs(help, stdout);
        return flushed(SIMFABRIC_DONE);
    }
    if (!instance_at(&instance, words.name, getenv("XDG_RUNTIME_DIR")))
        return usage("a name of a fabric has letters, digits, '-', '_' and '.', not", words.name);
    return flushed(carry_out(&instance, &words));
}
