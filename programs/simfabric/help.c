/* SPDX-License-Identifier: Apache-2.0 */
/* The help of simfabric. */
#include <stdio.h>
#include <string.h>

#include "fabric_sim/simfabric/control.h"
#include "programs/simfabric/words.h"
#include "src/config/nearest.h"
#include "src/scenario/fault_line.h"
#include "src/scenario/topology_generate.h"

#define SHAPE(name, about) "  " name "\n      " about "\n"
#define JSON                                                                                       \
    "  -j, --json         JSON instead of lines\n"                                                 \
    "  -p, --pretty       JSON with line breaks\n"

static const struct command {
    const char *name, *synopsis, *about;
    const char *more; /* options and what else to know */
    const char *examples;
} commands[] = {
    {"up", "up [FILE]", "bring up the fabric that FILE describes (the topology of a scenario)",
     "FILE is - for standard input, or a folder with a topology.yaml or one *.yaml file; without\n"
     "FILE the present folder.\n"
     "\n"
     "  --foreground       stay, and end with Ctrl-C\n"
     "  --attached         stay as long as standard input does, and do not wait for the ports\n"
     "  --seed N           numbers and chance come from N instead of the system\n",
     "  simfabric up examples/pair.yaml\n"
     "  simfabric up examples/pair.yaml --name other --seed 7\n"},
    {"exec", "exec --node NODE -- PROGRAM...",
     "run a program on a node, with the node's RDMA devices",
     "  --node NODE        which node\n"
     "\n"
     "The exit status is the program's own; 125 when it was not begun, 126 when it cannot run,\n"
     "127 when it is not found.\n",
     "  simfabric exec --node n1 -- ibv_devinfo -v\n"
     "  simfabric exec --node n1 -- ibv_rc_pingpong &\n"
     "  simfabric exec --node n2 -- ibv_rc_pingpong 127.0.0.1\n"},
    {"shell", "shell --node NODE", "an interactive shell on a node, with a prompt that says so",
     "  --node NODE        which node\n"
     "\n"
     "The shell is that of SHELL; it ends as usual.\n",
     "  simfabric shell --node n1\n"},
    {"ctl", "ctl WORD [VALUE...]", "apply a fault word of the scenario language, or undo them all",
     NULL,
     "  simfabric ctl port_down n1\n"
     "  simfabric ctl loss n1 ppm=1000\n"
     "  simfabric ctl pkey_set n1 1 0x8005 device=mlx5_0\n"
     "  simfabric ctl undo\n"},
    {"status", "status", "the ports of all nodes, and who uses them", JSON,
     "  simfabric status\n"
     "  simfabric status --name other --json\n"},
    {"inspect", "inspect [NODE]",
     "adapters, ports with tables and counters, queue pairs, queues, memory", JSON,
     "  simfabric inspect n1\n"
     "  simfabric inspect --json | jq '.devices[].queue_pairs[]'\n"},
    {"graph", "graph", "a picture of the fabric: nodes, switches, links with rate and state",
     "  --format FORMAT    svg (default), html, dot or mermaid\n",
     "  simfabric graph > fabric.svg\n"
     "  simfabric graph --format dot | dot -Tpng > fabric.png\n"},
    {"generate", "generate SHAPE", "write a topology of a usual shape to standard output",
     "shapes:\n" TOPOLOGY_SHAPES(
         SHAPE) "\n"
                "  --nodes N          nodes (default: 8)\n"
                "  --radix N          ports of a switch (default: 8): fat-tree, dragonfly\n"
                "  --rails N          adapters of a node (default: 1; rail-optimised: 2)\n",
     "  simfabric generate fat-tree --nodes 32 --radix 16 > tree.yaml\n"
     "  simfabric generate rail-optimised --nodes 4 --rails 2 | simfabric up -\n"},
    {"validate", "validate [FILE]", "whether FILE is a topology; errors have FILE:LINE:COLUMN", "",
     "  simfabric validate examples/pair.yaml\n"
     "  simfabric generate dragonfly --nodes 40 | simfabric validate -\n"},
    {"down", "down", "end the fabric and remove what it made", "", "  simfabric down\n"},
    {"completion", "completion bash", "the script that completes commands, words and nodes", "",
     "  source <(simfabric completion bash)\n"},
    {"help", "help [COMMAND]", "this text, or all about one command", "", "  simfabric help ctl\n"},
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_words(void)
{
    printf("fault words, with the values that they need; others are NAME=VALUE:\n");
    for (int i = 0; i < TESTBED_WORD_COUNT; i++) {
        if (!control_has((enum testbed_word)i))
            continue;
        printf("  ");
        fault_line_usage(stdout, &fault_words[i]);
        printf("\n      %s\n", fault_words[i].help);
    }
    printf("  undo\n      every fault is taken back\n"
           "\n"
           "process_kill, process_freeze and power_loss are about every program that has a device\n"
           "of the node open.\n");
}

static void print_command(const struct command *command)
{
    printf("usage: simfabric %s [--name NAME]\n\n%s\n\n", command->synopsis, command->about);
    if (!command->more)
        print_words();
    else if (command->more[0])
        fputs(command->more, stdout);
    printf("  --name NAME        which fabric, where there are several (default: default)\n");
    printf("\nexamples:\n%s", command->examples);
}

static void print_all(void)
{
    printf("usage: simfabric COMMAND [--name NAME] ...\n\n");
    for (size_t i = 0; i < COMMANDS; i++)
        printf("  %-32s %s\n", commands[i].synopsis, commands[i].about);
    printf("\n"
           "`simfabric COMMAND --help` says more, with examples.\n"
           "\n"
           "examples:\n"
           "  simfabric up examples/pair.yaml\n"
           "  simfabric exec --node n1 -- ibv_rc_pingpong &\n"
           "  simfabric exec --node n2 -- ibv_rc_pingpong 127.0.0.1\n"
           "  simfabric ctl port_down n1\n"
           "  simfabric down\n"
           "\n"
           "exit status: 0 done, 1 internal, 2 usage, 3 the topology, 4 no such fabric is up,\n"
           "5 the fabric refuses; of exec: the program's own\n");
}

bool help_print(const char *command)
{
    if (!command) {
        print_all();
        return true;
    }
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(commands[i].name, command) == 0) {
            print_command(&commands[i]);
            return true;
        }
    }
    return false;
}

const char *help_nearest(const char *command)
{
    const char *names[COMMANDS];
    for (size_t i = 0; i < COMMANDS; i++)
        names[i] = commands[i].name;
    return nearest_name(command, names, COMMANDS);
}

void help_names(FILE *out)
{
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(out, "%s%s", i ? " " : "", commands[i].name);
}
