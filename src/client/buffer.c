/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>

#include "src/client/client.h"
#include "src/fabric/planted.h"

#define PAGE 4096u

void client_buffer_deregister(struct client *c, struct client_buffer *b)
{
    assert(c && b);
    for (uint32_t i = 0; i < c->rail_count; i++) {
        const struct rail *rail = &c->rails[i];
        if (b->epoch[i] && b->epoch[i] == rail->epoch && rail->device.id)
            fabric_mr_deregister(c->fabric, b->mr[i]);
        b->epoch[i] = 0;
    }
}

/* Of memory and of its iova, which devices map by whole pages. */
static uint64_t alignment(struct client *c)
{
    struct fabric_guarantees guarantees = {.iova_align = PAGE};
    fabric_guarantees(c->fabric, &guarantees);
    return guarantees.iova_align > PAGE ? guarantees.iova_align : PAGE;
}

/* Keys may be guessed, this not; and it tells peers nothing about this host. */
static uint64_t draw_iova(struct client *c, uint64_t align)
{
    uint64_t iova = 0;
    fabric_entropy(c->fabric, &iova, sizeof iova);
    if (PLANTED(client_iova_guessable))
        iova = 0;
    return (iova >> 2 & ~(align - 1)) + align; /* never 0, and its end does not wrap */
}

bool client_buffer_reserve(struct client *c, struct client_buffer *b, uint64_t size)
{
    assert(c && b && size);
    if (size <= b->size)
        return true;
    uint64_t align = alignment(c), larger = b->size ? b->size : align;
    while (larger < size)
        larger *= 2;
    uint8_t *memory = aligned_alloc((size_t)align, (size_t)larger);
    if (!memory)
        return false;
    client_buffer_deregister(c, b);
    free(b->memory);
    b->memory = memory;
    b->size = larger;
    b->iova = draw_iova(c, align);
    return true;
}

void client_buffer_adopt(struct client *c, struct client_buffer *b, void *memory, uint64_t size)
{
    assert(c && b && memory && size);
    uint64_t align = alignment(c);
    *b = (struct client_buffer){.memory = memory, .size = size};
    b->iova = draw_iova(c, align) + ((uintptr_t)memory & (align - 1));
}

enum fabric_error client_buffer_register(struct client *c, struct client_buffer *b, uint32_t rail)
{
    assert(c && b && rail < c->rail_count);
    struct rail *r = &c->rails[rail];
    if (b->epoch[rail] == r->epoch)
        return FABRIC_OK;
    bool read_only = b->read_only && !PLANTED(client_put_memory_written);
    const struct fabric_mr_init init = {.kind = FABRIC_MEM_HOST,
                                        .addr = b->memory,
                                        .length = b->size,
                                        .iova = b->iova,
                                        .access = read_only ? 0 : FABRIC_ACCESS_LOCAL_WRITE};
    struct fabric_mr_keys keys;
    enum fabric_error error = fabric_mr_register(c->fabric, r->device, &init, &b->mr[rail], &keys);
    if (!error)
        b->epoch[rail] = r->epoch;
    return error;
}

enum fabric_error client_buffer_lend(struct client *c, struct client_buffer *b, uint32_t rail,
                                     uint64_t offset, uint64_t length, uint32_t access,
                                     uint64_t cookie, fabric_window *window)
{
    assert(c && b && length && offset <= b->size && length <= b->size - offset);
    enum fabric_error error = client_buffer_register(c, b, rail);
    if (error)
        return error;
    return fabric_window_open(c->fabric, b->mr[rail], b->iova + offset, length, access, cookie,
                              window);
}

void client_buffer_free(struct client_buffer *b)
{
    assert(b);
    free(b->memory);
    b->memory = NULL;
    b->size = 0;
}
