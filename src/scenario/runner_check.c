/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <inttypes.h>

#include "src/fabric/planted.h"
#include "src/scenario/runner_state.h"

/* What must come may be later where time is real; what must not come is not looked for longer. */
static uint64_t end_of(const struct runner *r, const struct scenario_check *check)
{
    assert(check->after <= check->by);
    bool open = check->never || check->by > FABRIC_FOREVER - r->slack;
    return open ? check->by : check->by + r->slack;
}

static bool in_bounds(const struct runner *r, const struct scenario_check *check, uint64_t time)
{
    assert(check->after <= check->by);
    if (PLANTED(scenario_by_unchecked))
        return true;
    return time >= check->after && time <= end_of(r, check);
}

static uint64_t count_of(const struct runner *r, const struct scenario_check *check)
{
    const struct history *history = &r->result->history;
    uint64_t count = 0;
    assert(check->match_count == 1);
    for (size_t i = 0; i < history->count; i++) {
        const struct history_entry *entry = &history->entries[i];
        count += in_bounds(r, check, entry->time) && history_fits(entry, check->matches);
    }
    return count;
}

static void describe(const struct scenario_check *check, struct text *out)
{
    assert(check->match_count == 1);
    if (check->count)
        text_add(out, "exactly %" PRIu64 " time%s ", check->count, check->count > 1 ? "s" : "");
    if (check->never)
        text_add(out, "never ");
    history_describe(check->matches, out);
    if (check->after) {
        text_add(out, ", not before ");
        text_add_time(out, check->after);
    }
    if (check->by != FABRIC_FOREVER) {
        text_add(out, ", by ");
        text_add_time(out, check->by);
    }
}

/* What must not happen (again) fails the moment it does. */
void runner_watch(struct runner *r, const struct history_entry *entry)
{
    assert(entry);
    for (size_t i = 0; i < r->scenario->check_count && !r->over; i++) {
        const struct scenario_check *check = &r->scenario->checks[i];
        bool bounded = check->never || check->count;
        if (!bounded || !in_bounds(r, check, entry->time) || !history_fits(entry, check->matches))
            continue;
        if (check->never ? PLANTED(scenario_never_unchecked)
                         : count_of(r, check) <= check->count || PLANTED(scenario_count_unchecked))
            continue;
        struct scenario_failure *failure = runner_fail(r, check->mark);
        describe(check, &failure->expected);
        if (check->count)
            text_add(&failure->found, "number %" PRIu64 ": ", count_of(r, check));
        history_line(entry, &failure->found);
    }
}

static void check_order(struct runner *r, const struct scenario_check *check)
{
    const struct history *history = &r->result->history;
    size_t from = 0;
    assert(check->match_count > 1);
    for (size_t i = 0; i < check->match_count; i++) {
        size_t at = history_find(history, from, &check->matches[i]);
        if (at == SIZE_MAX) {
            struct scenario_failure *failure = runner_fail(r, check->matches[i].mark);
            history_describe(&check->matches[i], &failure->expected);
            text_add(&failure->expected, i ? " after the %zu before it" : " at all", i);
            bool sooner = history_find(history, 0, &check->matches[i]) != SIZE_MAX;
            text_add(&failure->found, sooner ? "it happened sooner" : "it did not happen");
            history_nearest(history, &check->matches[i], &failure->nearest);
            return;
        }
        if (!PLANTED(scenario_order_unchecked))
            from = at + 1;
    }
}

static bool is_met(const struct runner *r, const struct scenario_check *check)
{
    uint64_t count = count_of(r, check);
    if (check->never)
        return true; /* runner_watch would have ended the run */
    return check->count ? count >= check->count : count > 0;
}

static void check_one(struct runner *r, const struct scenario_check *check)
{
    assert(check->match_count > 0);
    if (check->match_count > 1) {
        check_order(r, check);
        return;
    }
    /* A bound in the future is waited for; without one what was said elsewhere may be under way. */
    uint64_t end = end_of(r, check);
    if (check->by == FABRIC_FOREVER)
        end = PLANTED(scenario_closes_at_once) ? 0 : r->ops->now(r->tb) + r->slack;
    while (!is_met(r, check) && r->ops->now(r->tb) < end) {
        if (!runner_pump(r, end))
            break;
    }
    if ((r->over && r->result->status != SCENARIO_FAILED) || is_met(r, check) ||
        PLANTED(scenario_check_unchecked))
        return;
    struct scenario_failure *failure = runner_fail(r, check->mark);
    describe(check, &failure->expected);
    text_add(&failure->found, "%" PRIu64 " of them", count_of(r, check));
    history_nearest(&r->result->history, check->matches, &failure->nearest);
}

void runner_check_all(struct runner *r)
{
    for (size_t i = 0; i < r->scenario->check_count; i++) {
        if (r->result->status == SCENARIO_BROKEN || r->result->status == SCENARIO_INTERRUPTED)
            return;
        check_one(r, &r->scenario->checks[i]);
    }
}
