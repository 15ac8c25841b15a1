/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_hw/rdma/ledger.h"

#include <assert.h>
#include <stdlib.h>

bool rdma_ledger_open(struct rdma_ledger *ledger, uint32_t most)
{
    uint32_t capacity = 1;
    while (capacity < most && capacity < UINT32_C(1) << 30)
        capacity *= 2;
    *ledger = (struct rdma_ledger){.mask = capacity - 1, .most = most};
    ledger->entries = calloc(capacity, sizeof(*ledger->entries));
    return ledger->entries != NULL;
}

void rdma_ledger_close(struct rdma_ledger *ledger)
{
    free(ledger->entries);
    *ledger = (struct rdma_ledger){0};
}

struct rdma_entry *rdma_ledger_at(const struct rdma_ledger *ledger, uint64_t position)
{
    assert(position >= ledger->polled && position < ledger->next);
    return &ledger->entries[position & ledger->mask];
}

uint32_t rdma_ledger_outstanding(const struct rdma_ledger *ledger)
{
    assert(ledger->polled <= ledger->pushed && ledger->pushed <= ledger->next);
    return (uint32_t)(ledger->next - ledger->polled);
}

bool rdma_ledger_full(const struct rdma_ledger *ledger)
{
    return rdma_ledger_outstanding(ledger) >= ledger->most;
}

void rdma_ledger_add(struct rdma_ledger *ledger, struct rdma_entry entry, bool given)
{
    assert(!rdma_ledger_full(ledger));
    assert(!given || ledger->given == ledger->next);
    ledger->next++;
    ledger->given += given;
    *rdma_ledger_at(ledger, ledger->next - 1) = entry;
}

bool rdma_ledger_find(const struct rdma_ledger *ledger, uint32_t sequence, uint64_t *position)
{
    *position = ledger->pushed + ((sequence - (uint32_t)ledger->pushed) & RDMA_SEQUENCE_MASK);
    return *position < ledger->given;
}

const struct rdma_entry *rdma_ledger_polled(struct rdma_ledger *ledger)
{
    while (true) {
        assert(ledger->polled < ledger->pushed);
        const struct rdma_entry *entry = rdma_ledger_at(ledger, ledger->polled);
        ledger->polled++;
        if (entry->told)
            return entry;
    }
}
