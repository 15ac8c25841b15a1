/* SPDX-License-Identifier: Apache-2.0 */
/* Scenario files (HA-4.1): a cell is read, or there is a complaint. */
#include "src/config/yaml.h"
#include "src/scenario/scenario.h"
#include "tests/fuzz/fuzz.h"

#define MOST_CELLS 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    static const char *const programs[] = {"server", "client"};
    struct scenario_cells cells = {.count = 0};
    struct yaml_errors errors;
    yaml_errors_init(&errors, "input");
    bool good = scenario_read_cells((const char *)data, length, &cells, &errors);
    HOLDS(good == (errors.count == 0));
    for (size_t i = 0; good && i < cells.count && i < MOST_CELLS; i++) {
        yaml_errors_init(&errors, "input");
        struct scenario *one =
            scenario_read("input", (const char *)data, length, i, programs, 2, &errors);
        HOLDS((one != NULL) == (errors.count == 0));
        scenario_free(one);
    }
    if (good)
        arena_free(&cells.arena);
    return 0;
}
