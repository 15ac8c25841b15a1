/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads with one client: each stores and fetches values of its own and one that both write.
 * Knows nothing but the public header; ci/show/library builds it against the installed library.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/memkv/memkv.h"

#define ROUNDS 50
#define SIZE 100000u /* bytes */

struct part {
    struct memkv_client *client;
    char key[16];
    unsigned char fill; /* the other one's is another */
    unsigned wrong;
};

/* One of both threads' values, whole. */
static unsigned is_mixed(const unsigned char *value)
{
    for (size_t i = 1; i < SIZE; i++) {
        if (value[i] != value[0])
            return 1;
    }
    return value[0] != 1 && value[0] != 2;
}

static void *work(void *context)
{
    struct part *part = context;
    unsigned char *value = malloc(SIZE), *got = malloc(SIZE);
    for (int i = 0; i < ROUNDS; i++) {
        size_t length = 0;
        memset(value, part->fill, SIZE);
        part->wrong += memkv_put(part->client, "both", 4, value, SIZE, NULL) != 0;
        part->wrong += memkv_get(part->client, "both", 4, got, SIZE, &length, NULL) != 0;
        part->wrong += length != SIZE || is_mixed(got);
        value[0] = (unsigned char)i;
        part->wrong += memkv_put(part->client, part->key, 3, value, SIZE, NULL) != 0;
        part->wrong += memkv_get(part->client, part->key, 3, got, SIZE, &length, NULL) != 0;
        part->wrong += length != SIZE || memcmp(value, got, SIZE) != 0;
    }
    free(value);
    free(got);
    return NULL;
}

int main(void)
{
    struct part parts[2] = {{.key = "one", .fill = 1}, {.key = "two", .fill = 2}};
    pthread_t threads[2];
    struct memkv_client *client;
    struct memkv_error error;
    if (memkv_open(NULL, &client, &error)) {
        fprintf(stderr, "library_threads: %s: %s\n", error.name, error.text);
        return EXIT_FAILURE;
    }
    for (int i = 0; i < 2; i++) {
        parts[i].client = client;
        if (pthread_create(&threads[i], NULL, work, &parts[i]))
            abort();
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    memkv_close(client);
    printf("library_threads: %d values stored and fetched, %u wrong\n", 4 * ROUNDS,
           parts[0].wrong + parts[1].wrong);
    return parts[0].wrong + parts[1].wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
