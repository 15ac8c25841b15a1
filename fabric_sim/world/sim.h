/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time, chance and the trace of one simulated world. Integer nanoseconds; one seed; one heap.
 *
 * Order of events (HA-2.5): by time, then by the order in which they were scheduled. Nothing else
 * decides, so the same seed and the same calls give the same run on any machine.
 */
#ifndef FABRIC_SIM_WORLD_SIM_H
#define FABRIC_SIM_WORLD_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim;

/* What an event runs. `object` is whom it concerns; `arg` is free. */
typedef void (*sim_handler)(void *object, uint64_t arg);

/* A scheduled event; 0 is none. A handle stays safe to cancel after the event ran. */
typedef uint64_t sim_event;

struct sim *sim_create(uint64_t seed); /* aborts when memory is out */
void sim_destroy(struct sim *sim);     /* events not yet run are dropped */

uint64_t sim_now(const struct sim *sim); /* ns since the world began */

/* Schedules handler(object, arg) at `time`, which must not be past (asserted). */
sim_event sim_at(struct sim *sim, uint64_t time, sim_handler handler, void *object, uint64_t arg);
sim_event sim_in(struct sim *sim, uint64_t delay, sim_handler handler, void *object, uint64_t arg);
/* True when the event had not run yet; it never will. */
bool sim_cancel(struct sim *sim, sim_event event);

/* Time of the least event, UINT64_MAX when there is none. */
uint64_t sim_next_time(const struct sim *sim);
/* Advances to the least event and runs it; false when there is none. */
bool sim_step(struct sim *sim);
/* Runs every event due up to and including `time`, then advances to `time`. */
void sim_run_until(struct sim *sim, uint64_t time);

/* The one generator. Every draw counts, so that two runs can be compared (HA-2.4). */
uint64_t sim_random(struct sim *sim);
uint64_t sim_random_below(struct sim *sim, uint64_t bound); /* 0..bound-1, unbiased; bound > 0 */
uint64_t sim_random_between(struct sim *sim, uint64_t low, uint64_t high); /* both included */
bool sim_chance(struct sim *sim, uint32_t parts_per_million);
uint64_t sim_draws(const struct sim *sim);
uint64_t sim_events_run(const struct sim *sim);

/* The trace: one text line an event, "TIME NODE WHAT". Off by default. Lines go to the sink (may
 * be null; without a newline, lent for the call) and, each with a newline, into a running XXH3-64
 * hash. A line longer than 511 bytes is cut. No line holds a host address. */
typedef void (*sim_trace_sink)(void *context, const char *line, size_t length);
void sim_trace_start(struct sim *sim, sim_trace_sink sink, void *context);
bool sim_trace_on(const struct sim *sim);
uint64_t sim_trace_hash(const struct sim *sim); /* 0 before sim_trace_start */
void sim_trace_line(struct sim *sim, const char *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Formats nothing while the trace is off. */
#define SIM_TRACE(sim, node, ...)                                                                  \
    do {                                                                                           \
        if (sim_trace_on(sim))                                                                     \
            sim_trace_line((sim), (node), __VA_ARGS__);                                            \
    } while (0)

#endif
