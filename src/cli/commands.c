/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/commands.h"

static const char *const transports[] = {"auto", "rdma", "tcp", NULL};
static const char *const verify_transports[] = {"rdma", "tcp", NULL};
static const char *const levels[] = {"debug", "info", "warn", "error", NULL};

/* What every command that is a client takes; each has a key of the configuration. */
#define CLIENT_OPTIONS                                                                             \
    {.name = "server",                                                                             \
     .value = "HOST:PORT",                                                                         \
     .help = "a server; once for each of several",                                                 \
     .repeats = true},                                                                             \
        {.name = "device",                                                                         \
         .value = "NAME[:PORT]",                                                                   \
         .help = "RDMA device; repeat for more rails",                                             \
         .repeats = true},                                                                         \
        {.name = "auth-key-file", .value = "FILE", .help = "file with the key, 64 hex digits"},    \
        {.name = "auth-key",                                                                       \
         .value = "HEX",                                                                           \
         .help = "the key itself: everybody on this host can read it in the list of processes"},   \
        {.name = "config", .value = "FILE", .help = "client configuration (MEMKV_CONFIG)"},        \
        {.name = "timeout", .value = "TIME", .help = "of one operation, such as 10s"},             \
        {.name = "pkey-index", .value = "N", .help = "entry of the port's P_Key table"},           \
        {.name = "pkey", .value = "0xHEX", .help = "partition by value instead of by index"},      \
        {.name = "mtu", .value = "BYTES", .help = "256, 512, 1024, 2048 or 4096"},                 \
        {.name = "gid-index", .value = "N", .help = "entry of the port's GID table (RoCE)"},       \
        {.name = "service-level", .value = "N", .help = "InfiniBand SL, 0 to 15"},                 \
    {                                                                                              \
        .name = "traffic-class", .value = "N", .help = "RoCE traffic class, 0 to 255"              \
    }

static const struct cli_option client_options[] = {
    CLIENT_OPTIONS,
    {.name = "transport", .value = "WAY", .help = "auto, rdma or tcp", .choices = transports},
    {.name = NULL},
};

static const struct cli_option verify_options[] = {
    CLIENT_OPTIONS,
    {.name = "transport",
     .value = "WAY",
     .help = "rdma (the default: falling back is a failure) or tcp",
     .choices = verify_transports},
    {.name = "size", .value = "SIZE", .help = "of the block that is written, such as 2MiB"},
    {.name = NULL},
};

#define SYSFS_ROOT                                                                                 \
    {                                                                                              \
        .name = "sysfs-root", .value = "DIR",                                                      \
        .help = "a folder that stands for /: DIR/sys and DIR/dev instead of this machine's"        \
    }

static const char *const modes[] = {"memory", "file", "direct", NULL};

static const struct cli_option setup_options[] = {
    {.name = "mode",
     .value = "MODE",
     .help = "storage.mode of the configuration; memory unless it is given",
     .choices = modes},
    {.name = "path", .value = "DIR", .help = "folder of mode file; /var/lib/memkv"},
    {.name = "lanes", .value = "N", .help = "storage.lanes; 1"},
    {.name = "auth-key-file",
     .value = "FILE",
     .help = "where the configuration looks for the key; /etc/memkv/auth.key"},
    {.name = "format",
     .value = "DEVICE",
     .help = "lay a store out on this drive, or file of a given size; repeat for more",
     .repeats = true},
    {.name = "force", .help = "do it; without it nothing is written"},
    {.name = "overwrite", .help = "also on a drive that is not blank: what is on it is lost"},
    SYSFS_ROOT,
    {.name = NULL},
};

static const struct cli_option bench_options[] = {
    CLIENT_OPTIONS,
    {.name = "transport", .value = "WAY", .help = "auto, rdma or tcp", .choices = transports},
    {.name = "connections", .value = "N", .help = "to each server over TCP, of each thread"},
    {.name = "size", .value = "SIZE", .help = "of every value; 2MiB unless it is given"},
    {.name = "depth", .value = "N", .help = "operations under way on each thread; 8"},
    {.name = "threads", .value = "N", .help = "clients, each on a thread of its own; 1"},
    {.name = "mix",
     .value = "PUT:GET[:EXISTS]",
     .help = "how often each is drawn; 1:1. 0:1 only gets"},
    {.name = "keys", .value = "N", .help = "blocks of each thread; 64"},
    {.name = "warm-up", .value = "TIME", .help = "before anything is counted; 1s"},
    {.name = "duration", .value = "TIME", .help = "of the measurement; 10s"},
    {.name = "count", .value = "N", .help = "operations in all, in place of --duration"},
    {.name = "seed", .value = "N", .help = "of the order of keys and operations; 1"},
    {.name = "keep", .help = "leave the blocks in the store"},
    {.name = NULL},
};

#define SET_OPTION                                                                                 \
    {                                                                                              \
        .name = "set", .value = "SECTION.KEY=VALUE",                                               \
        .help = "any other key of the server's configuration", .repeats = true                     \
    }

static const struct cli_option start_options[] = {
    {.name = "config", .value = "FILE", .help = "instead of /etc/memkv/config.yaml"},
    {.name = "check-config", .help = "only check the configuration"},
    {.name = "print-config", .help = "only print it, each value with its origin"},
    {.name = "address", .value = "IP:PORT", .help = "network.address; port 0 picks a free one"},
    {.name = "admin-address", .value = "IP:PORT", .help = "admin.address"},
    {.name = "auth-key-file", .value = "FILE", .help = "network.auth_key_file"},
    {.name = "device",
     .value = "NAME[:PORT]",
     .help = "rdma.devices; repeat for more rails",
     .repeats = true},
    {.name = "log-level", .value = "LEVEL", .help = "log.level", .choices = levels},
    SET_OPTION,
    {.name = NULL},
};

static const struct cli_option show_options[] = {
    {.name = "device", .value = "NAME[:PORT]", .help = "only this one"},
    {.name = "config",
     .value = "FILE",
     .help = "judge by the settings of this server configuration"},
    SET_OPTION,
    {.name = "watch", .value = "TIME", .help = "read the counters twice, so far apart, such as 5s"},
    SYSFS_ROOT,
    {.name = NULL},
};

static const struct cli_option ipoib_options[] = {
    {.name = "interface", .value = "NAME", .help = "by the name that it has now, such as ib0"},
    {.name = "connected", .help = "connected mode, which allows an MTU of 65520"},
    {.name = "mtu", .value = "BYTES", .help = "the MTU afterwards"},
    {.name = "apply", .help = "do it; otherwise only what would be done is shown"},
    {.name = "persist",
     .help = "print the udev rules that make it last; with --apply install them"},
    SYSFS_ROOT,
    {.name = NULL},
};

static const struct cli_option status_options[] = {
    {.name = "server",
     .value = "HOST:PORT",
     .help = "the server's HTTP end point; 127.0.0.1:9901 unless it is given"},
    {.name = NULL},
};

static const struct cli_option explain_options[] = {
    {.name = "all", .help = "every error"},
    {.name = "markdown", .help = "every error, as the table of the documentation"},
    {.name = NULL},
};

#define EXAMPLES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define KEY_HELP                                                                                   \
    "The key of the cluster comes from --auth-key-file, MEMKV_AUTH_KEY_FILE or MEMKV_AUTH_KEY. "
#define SPLIT_HELP                                                                                 \
    "Up to 16 MiB are one value under KEY; more become KEY#0, KEY#1, ... of 16 MiB each, and KEY " \
    "holds a short list of them."

const struct cli_command cli_commands[] = {
    {.object = "start",
     .operands = "",
     .summary = "run the server",
     .about = "Reads the configuration, serves until SIGTERM or SIGINT, and then finishes what is "
              "under way. SIGHUP reads the key and the log level again; the key before it stays "
              "good until the next one. Scripts wait for the line `memkv: ready data=IP:PORT "
              "admin=IP:PORT` on standard output.",
     .examples = EXAMPLES("memkv start --config examples/memkv.yaml",
                          "memkv start --check-config --config /etc/memkv/config.yaml",
                          "memkv start --print-config --set memory.max_size=4GiB"),
     .options = start_options,
     .run = cli_run_start},
    {.object = "put",
     .operands = "KEY FILE",
     .least = 2,
     .most = 2,
     .summary = "store a file under a key",
     .about = KEY_HELP SPLIT_HELP " FILE may be - for standard input.",
     .examples = EXAMPLES("memkv put model/layer0 block.bin --server node2:9900",
                          "MEMKV_SERVERS=node2:9900 memkv put k - < block.bin"),
     .options = client_options,
     .run = cli_run_put},
    {.object = "get",
     .operands = "KEY FILE",
     .least = 2,
     .most = 2,
     .summary = "read a value into a file",
     .about = KEY_HELP "FILE may be - for standard output. The file appears when it is whole.",
     .examples = EXAMPLES("memkv get model/layer0 copy.bin --server node2:9900",
                          "memkv get k - --server node2:9900 | sha256sum"),
     .options = client_options,
     .run = cli_run_get},
    {.object = "exists",
     .operands = "KEY...",
     .least = 1,
     .most = CLI_MAX_OPERANDS,
     .summary = "say whether keys are stored (exit 8: one is not)",
     .about = KEY_HELP "Asking does not count as use.",
     .examples = EXAMPLES("memkv exists model/layer0 --server node2:9900"),
     .options = client_options,
     .run = cli_run_exists},
    {.object = "rm",
     .operands = "KEY...",
     .least = 1,
     .most = CLI_MAX_OPERANDS,
     .summary = "delete keys; what is not there is no error",
     .about = KEY_HELP "A file that was stored in parts goes with all of them.",
     .examples = EXAMPLES("memkv rm model/layer0 --server node2:9900"),
     .options = client_options,
     .run = cli_run_rm},
    {.object = "setup",
     .operands = "",
     .summary = "what this machine has for a server, and a configuration that fits",
     .about =
         "Looks at processors, memory, the limit of locked memory, RDMA ports, drives and file "
         "systems, and prints a commented configuration. With --format and --force it lays "
         "stores out on drives for storage.mode direct, in the order of storage.devices: what is "
         "mounted or otherwise in use is refused by name, and what is not blank too, unless "
         "--overwrite is given. A drive that holds a store of that place stays as it is.",
     .examples =
         EXAMPLES("memkv setup > /etc/memkv/config.yaml", "memkv setup --mode direct --json",
                  "memkv setup --format /dev/nvme0n1 --format /dev/nvme1n1 --force"),
     .options = setup_options,
     .run = cli_run_setup},
    {.object = "bench",
     .operands = "",
     .summary = "how fast a store is",
     .about =
         "Puts blocks of its own, warms up, measures puts and gets as they are mixed, says how "
         "many there were in a second and how long they took, and deletes the blocks. Every "
         "value that comes back is looked at. What the store gave away for others counts as "
         "not found. Ctrl-C ends it early and says what was measured; a second one leaves the "
         "blocks there. Under --json every setting that held is part of the result. " KEY_HELP,
     .examples = EXAMPLES("memkv bench --server node2:9900 --auth-key-file auth.key",
                          "memkv bench --server node2:9900 --size 2MiB --depth 16 --threads 2 "
                          "--mix 1:4 --duration 30s --json"),
     .options = bench_options,
     .run = cli_run_bench},
    {.object = "net",
     .verb = "show",
     .operands = "",
     .summary = "RDMA devices and ports, and what is wrong with them",
     .about = "Link layer, LID or GIDs with a verdict on each, partition, MTU, service level, "
              "counters, the IPoIB interface, and the settings that this fabric ignores.",
     .examples = EXAMPLES("memkv net show", "memkv net show --device mlx5_0",
                          "memkv net show --config /etc/memkv/config.yaml --json"),
     .options = show_options,
     .run = cli_run_net_show},
    {.object = "net",
     .verb = "verify",
     .operands = "",
     .summary = "prove the way to a server with a block there and back",
     .about = "Connects, writes a block of at least 2*MTU+1 bytes over the named device and port, "
              "reads it back, compares, and prints VERIFIED, or FAILED with the named error. "
              "Without --transport tcp a fallback is a failure. One server at a time. " KEY_HELP
              "A key on the command line is visible to everybody on the host.",
     .examples =
         EXAMPLES("memkv net verify --server node2:9900 --device mlx5_0 --auth-key-file auth.key",
                  "memkv net verify --server node2:9900 --transport tcp --auth-key-file auth.key"),
     .options = verify_options,
     .run = cli_run_verify},
    {.object = "net",
     .verb = "ipoib",
     .operands = "",
     .summary = "mode and MTU of an IPoIB interface",
     .about =
         "Shows what would be done: the mode before the MTU, because the mode sets the MTU too. "
         "--apply does it, --persist prints udev rules in both forms, together they install them. "
         "With "
         "--sysfs-root nothing outside of that folder is touched.",
     .examples = EXAMPLES("memkv net ipoib --interface ib0",
                          "memkv net ipoib --interface ib0 --connected --mtu 65520 --apply"),
     .options = ipoib_options,
     .run = cli_run_net_ipoib},
    {.object = "admin",
     .verb = "status",
     .operands = "",
     .summary = "what a server says about itself",
     .about =
         "Asks the HTTP end point for /v1/status, so it needs no key. An end point with TLS is "
         "asked by other means, such as curl.",
     .examples = EXAMPLES("memkv admin status", "memkv admin status --server node2:9901 --json"),
     .options = status_options,
     .run = cli_run_status},
    {.object = "explain",
     .operands = "NAME...",
     .most = CLI_MAX_OPERANDS,
     .summary = "meaning, likely cause and fix of a named error",
     .about = "The documentation's table of errors is made from the same source.",
     .examples = EXAMPLES("memkv explain pkey_limited_pair", "memkv explain --all"),
     .options = explain_options,
     .run = cli_run_explain},
    {.object = "completion",
     .operands = "SHELL",
     .least = 1,
     .most = 1,
     .summary = "a completion script for a shell (bash)",
     .about = "Completes commands, options and the names of errors, devices and keys' files.",
     .examples = EXAMPLES("memkv completion bash > /etc/bash_completion.d/memkv"),
     .run = cli_run_completion},
    {.object = "help",
     .operands = "[env | exit | COMMAND...]",
     .most = 3,
     .summary = "this, a command, the environment, the exit codes",
     .about = "",
     .examples = EXAMPLES("memkv help env", "memkv help net verify"),
     .run = cli_run_help},
    {.object = NULL},
};
