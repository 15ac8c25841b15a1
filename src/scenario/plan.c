/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "src/scenario/runner.h"
#include "src/scenario/words.h"

/* What the testbed has to say so far. */
static void add_told(const struct testbed_ops *ops, struct testbed *tb, struct text *out)
{
    struct testbed_event event;
    for (ops->next(tb, 0, &event); event.type == TESTBED_EVENT_LOG; ops->next(tb, 0, &event))
        text_add(out, "    %s%s%s\n", event.node, *event.node ? ": " : "", event.text);
}

static void plan_step(const struct testbed_ops *ops, struct testbed *tb,
                      const struct scenario_step *step, struct text *out)
{
    char detail[TESTBED_DETAIL] = "";
    assert(step->action == SCENARIO_FAULT);
    text_add(out, "  line %u: %s%s%s\n", step->mark.line, step->word,
             step->fault.node ? " on " : "", step->fault.node ? step->fault.node : "");
    if (ops->apply(tb, &step->fault, detail) != TESTBED_DONE)
        text_add(out, "    cannot be done: %s\n", detail);
    add_told(ops, tb, out);
}

bool scenario_plan(const struct scenario *scenario, const struct testbed_ops *ops,
                   const struct scenario_options *options, struct text *out)
{
    char detail[TESTBED_DETAIL] = "";
    const struct testbed_options made = {.caps = options->caps,
                                         .inventory = options->inventory,
                                         .host = options->host,
                                         .plan = true};
    assert(scenario && ops && out);
    text_add(out, "%s%s%s%s\n", scenario->file, *scenario->cell ? " [" : "", scenario->cell,
             *scenario->cell ? "]" : "");
    text_add(out, "  takes ");
    text_add_time(out, scenario->real);
    text_add(out, " where time is real%s\n",
             scenario->real > SCENARIO_REAL_LIMIT ? ": only with --slow" : "");
    struct testbed *tb = ops->create(scenario->topology, &made, detail);
    if (!tb) {
        text_add(out, "  is skipped: %s\n", detail);
        return false;
    }
    add_told(ops, tb, out);
    for (size_t i = 0; i < scenario->step_count; i++) {
        if (scenario->steps[i].action == SCENARIO_FAULT)
            plan_step(ops, tb, &scenario->steps[i], out);
    }
    ops->destroy(tb);
    return true;
}
