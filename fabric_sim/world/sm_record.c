/* SPDX-License-Identifier: Apache-2.0 */
/* What is remembered of a port by its GUID. */
#include <assert.h>
#include <stdlib.h>

#include "fabric_sim/world/sm_state.h"

struct sm_record *sm_record_find(const struct sm *sm, uint64_t guid)
{
    uint32_t index = guid_map_get(&sm->by_guid, guid);

    return index == GUID_MAP_NONE ? NULL : &sm->records[index];
}

struct sm_record *sm_record_get(struct sm *sm, uint64_t guid)
{
    struct sm_record *record = sm_record_find(sm, guid);

    assert(guid != 0);
    if (record)
        return record;
    if (sm->record_count == sm->record_room) {
        sm->record_room = sm->record_room ? 2 * sm->record_room : 64;
        sm->records = sm_grow(sm->records, sm->record_room, sizeof *sm->records);
    }
    guid_map_put(&sm->by_guid, guid, (uint32_t)sm->record_count);
    record = &sm->records[sm->record_count++];
    *record = (struct sm_record){.guid = guid};
    return record;
}

void sm_records_destroy(struct sm *sm)
{
    for (size_t i = 0; i < sm->record_count; i++) {
        free(sm->records[i].pkeys);
        free(sm->records[i].sl_map);
        free(sm->records[i].lft);
        free(sm->records[i].lft_wanted);
    }
    free(sm->records);
    guid_map_clear(&sm->by_guid);
}
