/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A medium on a simulated disk, and a model of what it has promised: values are made from key and
 * version, and the version is their tag.
 */
#ifndef TESTS_SUPPORT_MEDIA_BED_H
#define TESTS_SUPPORT_MEDIA_BED_H

#include "src/store/media.h"
#include "tests/support/disk_fabric.h"

#define MEDIA_BED_KEYS 12
#define MEDIA_BED_ROOM 65536 /* bytes of the largest value */
#define MEDIA_BED_PATH "/var/lib/memkv/lane-0"

/* What a key may hold: one of two versions while something is under way; 0: nothing. */
struct media_bed_key {
    uint32_t sure, maybe;
    bool busy;
    uint64_t length[2]; /* of sure, maybe */
    struct media_entry *entry;
    uint8_t *buf;
};

struct media_bed {
    struct sim *sim;
    struct disk *disk;
    struct disk_fabric *fabric;
    struct media_init init;
    struct media *media;
    struct media_bed_key keys[MEDIA_BED_KEYS];
    uint32_t version;
    uint64_t random; /* of the workload: apart from the world's */
    uint64_t saved, removed, loaded, lost, wrong;
    bool opened, fell_out;
    enum fabric_error error; /* of opening, or why it fell out */
};

void media_bed_up(struct media_bed *bed, uint64_t seed, const struct disk_config *config);
void media_bed_down(struct media_bed *bed);
/* Opens the medium and waits; its entries are taken over. What they are must be among what the
 * model allows, which is then sure; `lost` and `wrong` count what is not. */
enum fabric_error media_bed_open(struct media_bed *bed);
/* The program ends and is forgotten, as by kill -9. */
void media_bed_kill(struct media_bed *bed);
/* The same, and the power goes. */
void media_bed_power_cut(struct media_bed *bed);

/* While it is closed: changes a byte of the file; cuts the file to so many bytes. */
void media_bed_flip(struct media_bed *bed, uint64_t offset);
void media_bed_shorten(struct media_bed *bed, uint64_t size);
/* While it is closed: what is at that place. */
void media_bed_peek(struct media_bed *bed, uint64_t offset, uint8_t *to, size_t length);
void media_bed_poke(struct media_bed *bed, uint64_t offset, const uint8_t *from, size_t length);

/* Begins something with a key that is not busy. */
enum fabric_error media_bed_put(struct media_bed *bed, unsigned key, uint64_t length);
enum fabric_error media_bed_remove(struct media_bed *bed, unsigned key);
/* Reads the value and compares it; waits. */
enum fabric_error media_bed_get(struct media_bed *bed, unsigned key);
/* One completion; false when nothing is under way. */
bool media_bed_step(struct media_bed *bed);
void media_bed_settle(struct media_bed *bed); /* until nothing is */
/* Puts and removes until as many changes of the disk were counted, or `operations` have begun;
 * whether it came to the first. */
bool media_bed_work(struct media_bed *bed, uint32_t operations, uint64_t points);

/* ---- For tests whose bed is the static `bed`: with it up before and down after. */
#define MEDIA_BED_TEST(test)                                                                       \
    cmocka_unit_test_prestate_setup_teardown(test, media_bed_setup, media_bed_teardown, &bed)
int media_bed_setup(void **bed);
int media_bed_teardown(void **bed);
/* Each fails the test when it does not work. */
void media_bed_again(struct media_bed *bed); /* killed and opened */
struct media_counts media_bed_counts(const struct media_bed *bed);
void media_bed_save(struct media_bed *bed, unsigned key, uint64_t length); /* puts, and waits */

#endif
