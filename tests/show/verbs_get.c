/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of 2 MiB got over RDMA into registered memory, for ci/show/vm-ratio:
 *
 *     verbs_get IP:PORT DEVICE KEY-FILE ROUNDS
 *
 * Stores 8 blocks, gets them once to warm up, then ROUNDS times, 8 at once, and prints "MiB/s N" of
 * the gets.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "include/memkv/memkv.h"

#define BLOCK ((size_t)2 << 20)
#define BLOCKS 8

static void die(const char *what, const struct memkv_error *error)
{
    fprintf(stderr, "verbs_get: %s: %s: %s\n", what, error->name, error->text);
    exit(1);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* `count` blocks from `first` on, at once; each must have gone by RDMA. Returns whether they did.
 */
static bool some(struct memkv_client *client, struct memkv_memory *memory, uint8_t *data,
                 enum memkv_operation operation, unsigned first, unsigned count,
                 struct memkv_error *error)
{
    struct memkv_request requests[BLOCKS];
    struct memkv_completion done[BLOCKS];
    char keys[BLOCKS][16];
    if (count == 0 || count > BLOCKS)
        return false;
    for (unsigned i = 0; i < count; i++) {
        snprintf(keys[i], sizeof(keys[i]), "k%u", first + i);
        requests[i] = (struct memkv_request){.operation = operation,
                                             .key = keys[i],
                                             .key_length = strlen(keys[i]),
                                             .data = data + (first + i) * BLOCK,
                                             .length = BLOCK,
                                             .memory = memory,
                                             .timeout = UINT64_C(60000000000)};
    }
    if (memkv_batch(client, requests, count, done, error))
        return false;
    for (unsigned i = 0; i < count; i++) {
        if (done[i].transport == MEMKV_OVER_RDMA && done[i].length == BLOCK)
            continue;
        fprintf(stderr, "verbs_get: a block did not go by RDMA\n");
        exit(1);
    }
    return true;
}

/* One after the other, and again where soft-RoCE lost too many packets of a READ. */
static void store(struct memkv_client *client, struct memkv_memory *memory, uint8_t *data)
{
    struct memkv_error error;
    for (unsigned i = 0, tries = 0; i < BLOCKS; i++) {
        while (!some(client, memory, data, MEMKV_PUT, i, 1, &error)) {
            if (!error.retriable || ++tries > 20)
                die("a block to store", &error);
        }
    }
}

static void get_all(struct memkv_client *client, struct memkv_memory *memory, uint8_t *data)
{
    struct memkv_error error;
    if (!some(client, memory, data, MEMKV_GET, 0, BLOCKS, &error))
        die("blocks to get", &error);
}

int main(int argc, char **argv)
{
    char servers[80], device[80], key[256];
    const char *settings[] = {servers, device, key, "transport=rdma", NULL};
    const struct memkv_options options = {
        .size = sizeof(options), .settings = settings, .ignore_environment = true};
    struct memkv_client *client;
    struct memkv_memory *memory;
    struct memkv_error error;
    void *data;
    if (argc != 5 || posix_memalign(&data, BLOCK, BLOCKS * BLOCK))
        return 2;
    snprintf(servers, sizeof(servers), "servers=%s", argv[1]);
    snprintf(device, sizeof(device), "rdma_devices=%s", argv[2]);
    snprintf(key, sizeof(key), "auth_key_file=%s", argv[3]);
    unsigned rounds = (unsigned)atoi(argv[4]);
    memset(data, 0x5a, BLOCKS * BLOCK);
    if (memkv_open(&options, &client, &error))
        die("open", &error);
    if (memkv_memory_register(client, data, BLOCKS * BLOCK, &memory, &error))
        die("register", &error);
    store(client, memory, data);
    get_all(client, memory, data);
    double begin = now();
    for (unsigned i = 0; i < rounds; i++)
        get_all(client, memory, data);
    printf("MiB/s %.2f\n", rounds * BLOCKS * 2 / (now() - begin));
    memkv_close(client);
    free(data);
    return 0;
}
