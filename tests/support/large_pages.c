/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "tests/support/large_pages.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define GUARD 4096

uint8_t *large_pages_new(void)
{
    if (access("/sys/kernel/mm/transparent_hugepage/enabled", F_OK) != 0)
        return NULL;
    uint8_t *all = mmap(NULL, LARGE_PAGES_SIZE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    /* The guards keep it from becoming a part of what the allocator mapped beside it. */
    if (all == MAP_FAILED || mprotect(all, GUARD, PROT_NONE) ||
        mprotect(all + LARGE_PAGES_SIZE - GUARD, GUARD, PROT_NONE))
        abort();
    return all + GUARD;
}

void large_pages_free(uint8_t *memory)
{
    munmap(memory - GUARD, LARGE_PAGES_SIZE);
}

bool large_pages_wanted(const uint8_t *memory)
{
    char line[512];
    bool inside = false, wanted = false;
    const uintptr_t begin = (uintptr_t)memory, end = begin + LARGE_PAGES_SIZE - 2 * GUARD;
    FILE *smaps = fopen("/proc/self/smaps", "r");
    if (!smaps)
        abort();
    while (fgets(line, sizeof line, smaps)) {
        uintptr_t first, last;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &first, &last) == 2)
            inside = first < end && last > begin;
        else if (inside && strncmp(line, "VmFlags:", 8) == 0)
            wanted |= strstr(line, " hg") != NULL;
    }
    fclose(smaps);
    return wanted;
}
