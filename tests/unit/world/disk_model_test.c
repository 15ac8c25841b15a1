/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random requests with power cuts, against a model that knows only what fabric.h promises: for
 * each cell of a file the values that may be there afterwards, for each name the files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "tests/support/little_disk.h"

#define UNIT 512 /* a cell: what does not tear */
#define CELLS 6  /* of a file; the first one holds its number and stays */
#define NAMES 6
#define FILES 250
#define SEEDS 60
#define CUTS 6
#define STEPS 40

/* A name per line of two folders. */
static const char *const paths[NAMES] = {"/tmp/a", "/tmp/b", "/tmp/c",
                                         "/etc/a", "/etc/b", "/etc/c"};

struct cell {
    uint8_t now;
    bool may[256]; /* after a power cut */
};

struct file { /* number 0: none */
    struct cell cells[CELLS];
    bool stays; /* it has a durable name and was not unlinked or replaced since */
};

struct name {
    uint8_t now; /* number of its file */
    bool may[256];
    int rename; /* the latest change was that one; -1: another */
};

struct rename {
    int from, to;
    bool synced[2]; /* folder 0, folder 1 */
};

static struct model {
    struct file files[FILES];
    struct name names[NAMES];
    struct rename renames[CUTS * STEPS];
    int rename_count;
    uint8_t file_count, value;
} model;
static struct little_disk little;

static int folder_of(int name)
{
    return name / (NAMES / 2);
}

static unsigned below(unsigned bound)
{
    return (unsigned)sim_random_below(little.sim, bound);
}

/* ------------------------------------------------------------------ what the model is told */

static void cell_becomes(struct cell *cell, uint8_t value)
{
    cell->now = value;
    cell->may[value] = true;
}

static void cell_settles(struct cell *cell, uint8_t value)
{
    memset(cell->may, 0, sizeof(cell->may));
    cell_becomes(cell, value);
}

static void name_settles(struct name *name, uint8_t number)
{
    memset(name->may, 0, sizeof(name->may));
    name->now = number;
    name->may[number] = true;
    name->rename = -1;
    model.files[number].stays = true;
}

static void name_becomes(int at, uint8_t number, int rename)
{
    struct name *name = &model.names[at];
    if (rename < 0 || number)
        model.files[name->now].stays = false; /* unlinked, or replaced */
    name->now = number;
    name->may[number] = true;
    name->rename = rename;
}

static bool is_settled(const struct name *name)
{
    const struct rename *rename = &model.renames[name->rename < 0 ? 0 : name->rename];
    int from = folder_of(rename->from), to = folder_of(rename->to);
    return name->rename < 0 || (rename->synced[from] && rename->synced[to]);
}

static void folder_synced(int folder)
{
    for (int i = 0; i < model.rename_count; i++)
        model.renames[i].synced[folder] = true;
    for (int i = 0; i < NAMES; i++) {
        bool here = folder_of(i) == folder || model.names[i].rename >= 0;
        if (here && is_settled(&model.names[i]))
            name_settles(&model.names[i], model.names[i].now);
    }
}

/* ------------------------------------------------------------------ random requests */

static fabric_file open_number(int at)
{
    uint8_t cell[UNIT];
    fabric_file file = little_disk_open(&little, paths[at], 0);
    assert_int_not_equal(file.id, 0);
    assert_int_equal(little_disk_read(&little, file, 0, cell, UNIT), UNIT);
    assert_int_equal(cell[0], model.names[at].now);
    return file;
}

static void create(int at)
{
    uint8_t bytes[UNIT * CELLS] = {0}, number = ++model.file_count;
    memset(bytes, number, UNIT);
    fabric_file file = little_disk_open(&little, paths[at], FABRIC_IO_CREATE);
    assert_int_equal(little_disk_write(&little, file, 0, bytes, sizeof(bytes)), FABRIC_OK);
    assert_int_equal(little_disk_flush(&little, file), FABRIC_OK);
    little_disk_close(&little, file);
    for (int i = 0; i < CELLS; i++)
        cell_settles(&model.files[number].cells[i], i ? 0 : number);
    name_becomes(at, number, -1);
}

static void write_cells(int at)
{
    uint8_t bytes[UNIT * CELLS], value = (uint8_t)(1 + model.value++ % 255);
    unsigned first = 1 + below(CELLS - 1), count = 1 + below(CELLS - first);
    struct file *of = &model.files[model.names[at].now];
    fabric_file file = open_number(at);
    const struct fabric_io write = {.op = FABRIC_IO_WRITE,
                                    .file = file,
                                    .buf = bytes,
                                    .length = count * UNIT,
                                    .offset = first * UNIT};
    const struct fabric_io trim = {
        .op = FABRIC_IO_TRIM, .file = file, .length = count * UNIT, .offset = first * UNIT};
    bool trims = below(5) == 0;
    memset(bytes, value, sizeof(bytes));
    assert_int_equal(little_disk_do(&little, trims ? &trim : &write).error, FABRIC_OK);
    for (unsigned i = first; i < first + count; i++)
        cell_becomes(&of->cells[i], trims ? 0 : value);
    little_disk_close(&little, file);
}

static void shorten(int at)
{
    unsigned cells = 1 + below(CELLS);
    struct file *of = &model.files[model.names[at].now];
    fabric_file file = open_number(at);
    assert_int_equal(little_disk_truncate(&little, file, cells * UNIT), FABRIC_OK);
    for (unsigned i = cells; i < CELLS; i++)
        cell_becomes(&of->cells[i], 0);
    little_disk_close(&little, file);
}

static void flush(int at)
{
    struct file *of = &model.files[model.names[at].now];
    fabric_file file = open_number(at);
    assert_int_equal(little_disk_flush(&little, file), FABRIC_OK);
    for (int i = 0; i < CELLS; i++)
        cell_settles(&of->cells[i], of->cells[i].now);
    little_disk_close(&little, file);
}

static void move(int from, int to)
{
    int index = model.rename_count++;
    uint8_t number = model.names[from].now;
    assert_int_equal(little_disk_name(&little, FABRIC_IO_RENAME, paths[from], paths[to]), 0);
    if (from == to)
        return;
    model.renames[index] = (struct rename){.from = from, .to = to};
    name_becomes(to, number, index);
    name_becomes(from, 0, index);
}

static void step(void)
{
    int at = (int)below(NAMES), folder = (int)below(2);
    const char *const folders[] = {"/tmp", "/etc"};
    unsigned what = below(16);
    if (what < 2) {
        assert_int_equal(little_disk_name(&little, FABRIC_IO_SYNC_DIR, folders[folder], NULL), 0);
        folder_synced(folder);
    } else if (model.names[at].now == 0) {
        if (model.file_count < FILES - 1)
            create(at);
    } else if (what < 7) {
        write_cells(at);
    } else if (what < 8) {
        shorten(at);
    } else if (what < 10) {
        flush(at);
    } else if (what < 14) {
        move(at, (int)below(NAMES));
    } else {
        assert_int_equal(little_disk_name(&little, FABRIC_IO_UNLINK, paths[at], NULL), FABRIC_OK);
        name_becomes(at, 0, -1);
    }
}

/* ------------------------------------------------------------------ what must be so */

/* Reads the file of a name; a byte a cell. 0: there is none. */
static uint8_t read_cells(int at, uint8_t *cells)
{
    uint8_t bytes[UNIT * CELLS] = {0};
    fabric_file file = little_disk_open(&little, paths[at], FABRIC_IO_READ_ONLY);
    if (!file.id)
        return 0;
    (void)little_disk_read(&little, file, 0, bytes, sizeof(bytes));
    little_disk_close(&little, file);
    for (int i = 0; i < CELLS; i++) {
        cells[i] = bytes[i * UNIT];
        for (int j = 1; j < UNIT; j++)
            assert_int_equal(bytes[i * UNIT + j], cells[i]); /* nothing is torn within a unit */
    }
    assert_int_not_equal(cells[0], 0);
    return cells[0];
}

static void what_is_seen_is_what_was_done(void)
{
    uint8_t cells[CELLS];
    for (int i = 0; i < NAMES; i++) {
        uint8_t number = read_cells(i, cells);
        assert_int_equal(number, model.names[i].now);
        for (int j = 0; number && j < CELLS; j++)
            assert_int_equal(cells[j], model.files[number].cells[j].now);
    }
}

static void what_is_left_is_allowed(void)
{
    int places[FILES] = {0};
    uint8_t cells[CELLS], number;
    for (int i = 0; i < NAMES; i++) {
        number = read_cells(i, cells);
        assert_true(model.names[i].may[number]);
        places[number] += number != 0;
        for (int j = 0; number && j < CELLS; j++) {
            assert_true(model.files[number].cells[j].may[cells[j]]);
            cell_settles(&model.files[number].cells[j], cells[j]);
        }
        name_settles(&model.names[i], number);
    }
    model.files[0].stays = false;
    for (int i = 1; i <= model.file_count; i++) {
        assert_in_range(places[i], 0, 1); /* a rename never leaves both */
        model.files[i].stays = places[i] != 0;
    }
    model.rename_count = 0;
}

/* Nor neither: before what is left settles, who must be there is. */
static void who_must_be_there_is(void)
{
    bool there[256] = {0};
    uint8_t cells[CELLS];
    for (int i = 0; i < NAMES; i++)
        there[read_cells(i, cells)] = true;
    for (int i = 1; i <= model.file_count; i++)
        assert_true(there[i] || !model.files[i].stays);
}

static void run(uint64_t seed, bool keeps_order)
{
    little_disk_up(&little, seed, &(struct disk_config){.keeps_order = keeps_order});
    memset(&model, 0, sizeof(model));
    for (int i = 0; i < NAMES; i++)
        name_settles(&model.names[i], 0);
    for (int cut = 0; cut < CUTS; cut++) {
        for (unsigned steps = below(STEPS); steps > 0; steps--)
            step();
        what_is_seen_is_what_was_done();
        little_disk_power_cut(&little);
        who_must_be_there_is();
        what_is_left_is_allowed();
    }
    little_disk_down(&little);
}

static void nothing_but_what_is_allowed_is_left_by_a_power_cut(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        run(seed, false);
}

static void a_disk_that_keeps_order_leaves_less(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        run(seed, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_but_what_is_allowed_is_left_by_a_power_cut),
        cmocka_unit_test(a_disk_that_keeps_order_leaves_less),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
