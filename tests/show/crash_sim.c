/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuts the power at every write, flush and rename of a workload, as it is submitted and as it ends,
 * over disks that reorder, tear at several units, or keep order; then opens the medium and compares
 * it with what was acknowledged (MK-J4). A second cut falls into the recovery of the first.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/media_bed.h"

#define OPERATIONS 120
#define RECOVERY_POINTS 12 /* of a recovery at which it is cut again */

struct tally {
    uint64_t cuts, refused, lost, wrong, torn, seeds;
};

static const struct disk_config disks[] = {
    {.tear_unit = 512}, {.tear_unit = 4096}, {.tear_unit = 512, .keeps_order = true}};

/* Opens it again; cuts the opening too at `again` changes unless that is 0. */
static void look(struct media_bed *bed, uint64_t again, struct tally *tally)
{
    struct media_counts counts;
    if (again) {
        struct fabric_io_done done;
        bed->fabric = disk_fabric_new(bed->sim, bed->disk);
        bed->init.fabric = disk_fabric_head(bed->fabric);
        media_create(&bed->init, &bed->media);
        while (disk_fabric_points(bed->fabric) < again && disk_fabric_wait(bed->fabric, &done))
            media_event(bed->media, &done);
        media_bed_power_cut(bed);
        tally->cuts++;
    }
    if (media_bed_open(bed)) {
        tally->refused++;
        fprintf(stderr, "refused: %s: %s\n", error_name(bed->error), media_detail(bed->media));
        return;
    }
    media_counts(bed->media, &counts);
    tally->torn += counts.torn;
}

enum mode { A_FILE, A_DEVICE }; /* made under another name; laid out in place, past the cache */

/* A device is cut from then on when it is laid out: before, it is a store or it is refused. */
static void be_device(struct media_bed *bed, uint64_t *point)
{
    static uint8_t blank[1u << 20];
    if (disk_place(bed->disk, MEDIA_BED_PATH, blank, sizeof blank))
        abort();
    bed->init.direct = true;
    if (media_bed_open(bed))
        abort();
    *point += disk_fabric_points(bed->fabric);
}

/* False when the workload ended before that point. */
static bool cut_at(uint64_t seed, const struct disk_config *disk, enum media_durability durability,
                   enum mode mode, uint64_t point, struct tally *tally)
{
    struct media_bed bed;
    const uint64_t again = point % 3 == 0 ? 1 + point % RECOVERY_POINTS : 0;
    media_bed_up(&bed, seed, disk);
    bed.init.durability = durability;
    bed.init.size = 1u << 20;
    if (mode == A_DEVICE) {
        be_device(&bed, &point);
    } else {
        bed.fabric = disk_fabric_new(bed.sim, bed.disk);
        bed.init.fabric = disk_fabric_head(bed.fabric);
        media_create(&bed.init, &bed.media);
    }
    while (!bed.opened && disk_fabric_points(bed.fabric) < point && media_bed_step(&bed))
        ;
    bool came = disk_fabric_points(bed.fabric) >= point;
    if (!came)
        came = media_bed_work(&bed, OPERATIONS, point);
    if (durability == MEDIA_ACK)
        media_bed_power_cut(&bed);
    else
        media_bed_kill(&bed); /* what they promise: what the system has taken */
    look(&bed, again, tally);
    tally->cuts++;
    tally->lost += bed.lost;
    tally->wrong += bed.wrong;
    if (bed.lost || bed.wrong)
        fprintf(stderr,
                "seed %" PRIu64 " cut at %" PRIu64 ": lost %" PRIu64 ", wrong %" PRIu64 "\n", seed,
                point, bed.lost, bed.wrong);
    media_bed_down(&bed);
    return came;
}

int main(int count, char **arguments)
{
    const uint64_t seeds = count > 1 ? strtoull(arguments[1], NULL, 10) : 4;
    struct tally tally = {0};
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        for (size_t i = 0; i < sizeof disks / sizeof disks[0]; i++) {
            for (uint64_t point = 1; cut_at(seed, &disks[i], MEDIA_ACK, A_FILE, point, &tally);
                 point++)
                ;
            for (uint64_t point = 1; cut_at(seed, &disks[i], MEDIA_ACK, A_DEVICE, point, &tally);
                 point++)
                ;
        }
        for (uint64_t point = 1; cut_at(seed, &disks[0], MEDIA_NONE, A_FILE, point, &tally);
             point += 3)
            ;
        tally.seeds++;
    }
    bool failed = tally.lost || tally.wrong || tally.refused || tally.cuts < 1000;
    printf(
        "crash-sim: %s: %" PRIu64 " cut points over %" PRIu64 " seeds, acknowledged blocks lost: "
        "%" PRIu64 ", wrong: %" PRIu64 ", refused: %" PRIu64 "; torn ones dropped: %" PRIu64 "\n",
        failed ? "FAILED" : "passed", tally.cuts, tally.seeds, tally.lost, tally.wrong,
        tally.refused, tally.torn);
    return failed;
}
