/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores a block of 2 MiB, fetches it back and compares.
 *
 *     cc put_get.c $(pkg-config --cflags --libs libmemkv) -o put_get
 *     MEMKV_SERVERS=127.0.0.1:9900 MEMKV_AUTH_KEY_FILE=auth.key ./put_get
 *
 * Where the servers are and what the key is comes from the environment or from the file that
 * MEMKV_CONFIG names.
 */
#include <memkv/memkv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK (2u * 1024u * 1024u) /* bytes */

static const char key[] = "examples/put_get";

static int complain(const char *what, const struct memkv_error *error)
{
    fprintf(stderr, "put_get: %s: %s: %s%s\n", what, error->name, error->text,
            error->retriable ? " (may work later)" : "");
    return EXIT_FAILURE;
}

static int put_and_get(struct memkv_client *client, unsigned char *written, unsigned char *read)
{
    struct memkv_error error;
    size_t length;
    bool found;
    if (memkv_put(client, key, strlen(key), written, BLOCK, &error))
        return complain("put", &error);
    if (memkv_get(client, key, strlen(key), read, BLOCK, &length, &error))
        return complain("get", &error);
    if (length != BLOCK || memcmp(written, read, BLOCK) != 0) {
        fprintf(stderr, "put_get: other bytes came back\n");
        return EXIT_FAILURE;
    }
    if (memkv_delete(client, key, strlen(key), NULL, &error))
        return complain("delete", &error);
    if (memkv_exists(client, key, strlen(key), &found, &error))
        return complain("exists", &error);
    printf("put_get: %u bytes came back equal, and the block is %s\n", BLOCK,
           found ? "still there" : "gone");
    return found ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(void)
{
    struct memkv_options options = {.size = sizeof options};
    struct memkv_client *client;
    struct memkv_error error;
    unsigned char *written = malloc(BLOCK), *read = malloc(BLOCK);
    int code = EXIT_FAILURE;
    if (!written || !read) {
        fprintf(stderr, "put_get: no memory\n");
    } else if (memkv_open(&options, &client, &error)) {
        complain("open", &error);
    } else {
        for (size_t i = 0; i < BLOCK; i++)
            written[i] = (unsigned char)(i * 7 + i / 251);
        code = put_and_get(client, written, read);
        memkv_close(client);
    }
    free(written);
    free(read);
    return code;
}
