/* SPDX-License-Identifier: Apache-2.0 */
/* The client as C programs use it: api.h (MK-J5, MK-F4, MK-A4, MK-J1, MK-J2). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "src/client/api.h"
#include "tests/support/memkv_pair.h"

#define ROOM 65536u

static const char *transport = "rdma";

/* A user of the interface that does nothing by itself: the tests submit and drain. */
static enum fabric_error user_start(struct fabric *f, const char *config, size_t config_length,
                                    const struct fabric_report_sink *sink, void **state)
{
    struct client_config read;
    struct yaml_errors errors;
    yaml_errors_init(&errors, "user.yaml");
    assert_true(client_config_read(config, config_length, &read, &errors));
    return client_create(f, &read, sink, (struct client **)state);
}

static void user_event(void *state, const struct fabric_event *event)
{
    client_event(state, event);
}

static void user_command(void *state, const char *json)
{
    (void)state;
    (void)json;
}

static void user_stop(void *state)
{
    client_destroy(state);
}

static const struct fabric_program user = {"user", user_start, user_event, user_command, user_stop};

struct scene {
    struct small_world *w;
    struct client *c;
    uint8_t *data; /* ROOM bytes, page-aligned */
    struct client_memory *memory;
};

static struct scene begin(void)
{
    static const char form[] =
        "servers: [\"10.0.0.1:9900\"]\ntransport: %s\ntimeout: 2 s\nauth_key: %s\n";
    char config[300];
    struct scene s = {.w = small_world_new(2), .data = aligned_alloc(4096, ROOM)};
    assert_non_null(s.data);
    assert_int_equal(pair_server(s.w, ""), 0);
    snprintf(config, sizeof config, form, transport, PAIR_KEY);
    assert_int_equal(
        small_start_with(s.w, PAIR_CLIENT, &user, config, strlen(config), (void **)&s.c), 0);
    if (strcmp(transport, "rdma") == 0)
        assert_non_null(small_until(s.w, PAIR_CLIENT, "\"state\":\"up\"", SECOND));
    else
        small_run(s.w, SECOND);
    assert_int_equal(client_memory_register(s.c, s.data, ROOM, &s.memory), 0);
    for (size_t i = 0; i < ROOM; i++)
        s.data[i] = (uint8_t)(i * 31 >> 3);
    return s;
}

static void end(struct scene *s)
{
    small_world_free(s->w);
    free(s->data);
}

static struct client_request request(const struct scene *s, enum client_kind kind, const char *key,
                                     size_t at, uint64_t length)
{
    return (struct client_request){.kind = kind,
                                   .key = key,
                                   .key_length = strlen(key),
                                   .data = s->data + at,
                                   .length = length,
                                   .memory = s->memory,
                                   .cookie = at};
}

/* Goes on until `count` completions wait, at most for a minute. */
static void wait_for(struct scene *s, size_t count)
{
    for (unsigned i = 0; i < 60000 && client_completed(s->c) < count; i++)
        small_run(s->w, SECOND / 1000);
    assert_int_equal(client_completed(s->c), count);
}

static struct client_completion carry_out(struct scene *s, const struct client_request *r)
{
    struct client_completion done;
    assert_int_equal(client_submit(s->c, r, 1, NULL), 0);
    wait_for(s, 1);
    assert_int_equal(client_completions(s->c, &done, 1), 1);
    assert_int_equal(client_completions(s->c, &done, 1), 0);
    return done;
}

static void a_value_goes_out_of_and_comes_into_the_callers_memory(void **state)
{
    (void)state;
    static const char *const transports[] = {"rdma", "tcp"};
    for (unsigned i = 0; i < 2; i++) {
        transport = transports[i];
        struct scene s = begin();
        struct client_request put = request(&s, CLIENT_PUT, "k", 100, 20000);
        struct client_completion done = carry_out(&s, &put);
        assert_int_equal(done.error, 0);
        assert_int_equal(done.cookie, 100);
        assert_int_equal(done.kind, CLIENT_PUT);
        assert_int_equal(done.length, 20000);
        assert_int_equal(done.transport, i ? CLIENT_OVER_TCP : CLIENT_OVER_RC);
        assert_string_equal(done.server, "10.0.0.1:9900");
        struct client_request get = request(&s, CLIENT_GET, "k", 30000, 30000);
        memset(s.data + 30000, 0, 30000);
        done = carry_out(&s, &get);
        assert_int_equal(done.error, 0);
        assert_int_equal(done.length, 20000);
        assert_memory_equal(s.data + 30000, s.data + 100, 20000);
        assert_int_equal(s.data[50000], 0);
        end(&s);
    }
    transport = "rdma";
}

static void memory_that_is_known_is_registered_once(void **state)
{
    (void)state;
    struct scene s = begin();
    small_fail(s.w, PAIR_CLIENT, FABRIC_OP_MR_REGISTER, 1, 1000, ERR_MEMLOCK_LIMIT);
    for (size_t i = 0; i < 10; i++) {
        struct client_request put = request(&s, CLIENT_PUT, "k", i * 1000, 1000);
        assert_int_equal(carry_out(&s, &put).error, 0);
    }
    struct client_request stranger = request(&s, CLIENT_PUT, "k", 0, 1000);
    stranger.memory = NULL;
    assert_int_equal(carry_out(&s, &stranger).error, ERR_MEMLOCK_LIMIT);
    end(&s);
}

static void memory_that_is_not_known_serves_one_request(void **state)
{
    (void)state;
    struct scene s = begin();
    struct client_request put = request(&s, CLIENT_PUT, "k", 77, 5000);
    put.memory = NULL;
    assert_int_equal(carry_out(&s, &put).error, 0);
    struct client_request get = request(&s, CLIENT_GET, "k", 20011, 5000);
    get.memory = NULL;
    assert_int_equal(carry_out(&s, &get).error, 0);
    assert_memory_equal(s.data + 20011, s.data + 77, 5000);
    client_memory_unregister(s.c, s.memory);
    end(&s);
}

static void one_bad_key_does_not_spoil_the_others(void **state)
{
    (void)state;
    struct scene s = begin();
    char long_key[CLIENT_MAX_KEY + 2] = "";
    memset(long_key, 'x', CLIENT_MAX_KEY + 1);
    struct client_request batch[] = {
        request(&s, CLIENT_PUT, "a", 0, 1000),     request(&s, CLIENT_PUT, "", 1000, 1000),
        request(&s, CLIENT_PUT, "b", 2000, 1000),  request(&s, CLIENT_PUT, long_key, 3000, 1000),
        request(&s, CLIENT_PUT, "c", 4000, 0),     request(&s, CLIENT_PUT, "d", 5000, 1ull << 40),
        request(&s, CLIENT_GET, "none", 6000, 10), request(&s, CLIENT_EXISTS, "none", 7000, 0),
    };
    static const enum fabric_error expected[] = {
        FABRIC_OK,     ERR_INVALID_ARGUMENT, FABRIC_OK, ERR_INVALID_ARGUMENT, ERR_INVALID_ARGUMENT,
        ERR_TOO_LARGE, ERR_NOT_FOUND,        FABRIC_OK};
    client_request_id ids[8];
    struct client_completion done[9];
    assert_int_equal(client_submit(s.c, batch, 8, ids), 0);
    wait_for(&s, 8);
    assert_int_equal(client_completions(s.c, done, 9), 8);
    for (unsigned i = 0, seen = 0; i < 8; i++) {
        size_t which = done[i].cookie / 1000;
        assert_int_equal(done[i].id, ids[which]);
        assert_int_equal(done[i].error, expected[which]);
        assert_false(seen & 1u << which);
        seen |= 1u << which;
    }
    struct client_request key = request(&s, CLIENT_EXISTS, "b", 0, 0);
    assert_true(carry_out(&s, &key).found);
    end(&s);
}

static void a_prefix_goes_before_the_key(void **state)
{
    (void)state;
    struct scene s = begin();
    char long_key[CLIENT_MAX_KEY + 1] = "";
    memset(long_key, 'x', CLIENT_MAX_KEY);
    struct client_request put = request(&s, CLIENT_PUT, "k", 0, 1000);
    put.prefix = "tenant/";
    assert_int_equal(carry_out(&s, &put).error, 0);
    struct client_request key = request(&s, CLIENT_EXISTS, "k", 0, 0);
    assert_false(carry_out(&s, &key).found);
    key = request(&s, CLIENT_EXISTS, "tenant/k", 0, 0);
    assert_true(carry_out(&s, &key).found);
    key = request(&s, CLIENT_EXISTS, long_key, 0, 0);
    assert_int_equal(carry_out(&s, &key).error, 0);
    key.prefix = "t";
    assert_int_equal(carry_out(&s, &key).error, ERR_INVALID_ARGUMENT);
    end(&s);
}

static void a_small_buffer_is_told_what_is_needed_and_not_touched(void **state)
{
    (void)state;
    static const char *const transports[] = {"rdma", "tcp"};
    for (unsigned i = 0; i < 2; i++) {
        transport = transports[i];
        struct scene s = begin();
        struct client_request put = request(&s, CLIENT_PUT, "k", 0, 20000);
        assert_int_equal(carry_out(&s, &put).error, 0);
        memset(s.data, 0xee, ROOM);
        struct client_request get = request(&s, CLIENT_GET, "k", 4096, 19999);
        struct client_completion done = carry_out(&s, &get);
        assert_int_equal(done.error, ERR_BUFFER_TOO_SMALL);
        assert_int_equal(done.length, 20000);
        for (size_t at = 0; at < ROOM; at++)
            assert_int_equal(s.data[at], 0xee);
        end(&s);
    }
    transport = "rdma";
}

/* MK-F4: its own deadline, and one completion however late the answer comes. */
static void a_deadline_ends_a_request_once(void **state)
{
    (void)state;
    struct scene s = begin();
    small_delay(s.w, 5 * SECOND);
    uint64_t before = small_now(s.w);
    struct client_request put = request(&s, CLIENT_PUT, "k", 0, 1000);
    put.timeout = SECOND / 2;
    assert_int_equal(carry_out(&s, &put).error, ERR_TIMEOUT);
    assert_in_range(small_now(s.w) - before, SECOND / 2, SECOND / 2 + SECOND / 100);
    assert_int_equal(small_open(s.w, PAIR_CLIENT, "window"), 0);
    small_run(s.w, 20 * SECOND);
    assert_int_equal(client_completed(s.c), 0);
    end(&s);
}

static void a_cancelled_request_ends_when_nothing_can_touch_its_memory(void **state)
{
    (void)state;
    struct scene s = begin();
    small_delay(s.w, SECOND / 10);
    struct client_request put = request(&s, CLIENT_PUT, "k", 0, 1000);
    client_request_id id;
    struct client_completion done;
    assert_int_equal(client_submit(s.c, &put, 1, &id), 0);
    small_run(s.w, SECOND / 100);
    assert_true(client_cancel(s.c, id));
    wait_for(&s, 1);
    assert_int_equal(small_open(s.w, PAIR_CLIENT, "window"), 0);
    assert_false(client_cancel(s.c, id));
    assert_int_equal(client_completions(s.c, &done, 1), 1);
    assert_int_equal(done.error, ERR_CANCELLED);
    assert_false(client_cancel(s.c, id));
    small_run(s.w, 2 * SECOND);
    struct client_request key = request(&s, CLIENT_EXISTS, "k", 0, 0);
    assert_false(carry_out(&s, &key).found);
    end(&s);
}

static void cancelling_comes_too_late_for_what_is_done(void **state)
{
    (void)state;
    struct scene s = begin();
    struct client_request put = request(&s, CLIENT_PUT, "k", 0, 1000);
    client_request_id id;
    struct client_completion done;
    assert_int_equal(client_submit(s.c, &put, 1, &id), 0);
    wait_for(&s, 1);
    assert_false(client_cancel(s.c, id));
    assert_int_equal(client_completions(s.c, &done, 1), 1);
    assert_int_equal(done.error, 0);
    assert_false(client_cancel(s.c, 0));
    end(&s);
}

static void what_is_too_much_is_refused_as_a_whole(void **state)
{
    (void)state;
    struct scene s = begin();
    struct client_request *many = calloc(CLIENT_OPERATIONS, sizeof *many);
    for (size_t i = 0; i < CLIENT_OPERATIONS; i++)
        many[i] = request(&s, CLIENT_EXISTS, "k", 0, 0);
    assert_int_equal(client_submit(s.c, many, 1, NULL), 0);
    assert_int_equal(client_submit(s.c, many, CLIENT_OPERATIONS, NULL), ERR_QUEUE_FULL);
    wait_for(&s, 1);
    struct client_completion done;
    assert_int_equal(client_submit(s.c, many, CLIENT_OPERATIONS, NULL), ERR_QUEUE_FULL);
    assert_int_equal(client_completions(s.c, &done, 1), 1);
    assert_int_equal(client_submit(s.c, many, CLIENT_OPERATIONS, NULL), 0);
    wait_for(&s, CLIENT_OPERATIONS);
    free(many);
    end(&s);
}

/* More than the server takes at once: the rest waits for its turn. */
static void a_batch_may_be_larger_than_what_a_server_takes_at_once(void **state)
{
    (void)state;
    struct scene s = begin();
    struct client_request many[400];
    char keys[400][8];
    struct client_completion done[400];
    for (size_t i = 0; i < 400; i++) {
        snprintf(keys[i], sizeof keys[i], "k%zu", i);
        many[i] = request(&s, CLIENT_PUT, keys[i], i * 100, 100);
    }
    assert_int_equal(client_submit(s.c, many, 400, NULL), 0);
    wait_for(&s, 400);
    assert_int_equal(client_completions(s.c, done, 400), 400);
    for (size_t i = 0; i < 400; i++)
        assert_int_equal(done[i].error, 0);
    end(&s);
}

static void a_client_may_end_with_requests_open(void **state)
{
    (void)state;
    struct scene s = begin();
    small_delay(s.w, SECOND);
    struct client_request put = request(&s, CLIENT_PUT, "k", 0, 1000);
    assert_int_equal(client_submit(s.c, &put, 1, NULL), 0);
    small_run(s.w, SECOND / 100);
    small_stop(s.w, PAIR_CLIENT);
    assert_int_equal(small_open(s.w, PAIR_CLIENT, "window"), 0);
    end(&s);
}

/* MK-A4, MK-A6: memory that only one request names is that request's fault alone. */
static void memory_that_cannot_be_registered_fails_its_request_and_no_other(void **state)
{
    (void)state;
    transport = "rdma";
    struct scene s = begin();
    struct client_request r = request(&s, CLIENT_PUT, "k", 0, 20000);
    r.memory = NULL;
    small_read_only(s.w, PAIR_CLIENT, s.data);
    struct client_completion done = carry_out(&s, &r); /* a value that nobody can write */
    assert_int_equal(done.error, 0);
    assert_int_equal(done.transport, CLIENT_OVER_RC);
    r.kind = CLIENT_GET;
    done = carry_out(&s, &r);
    assert_int_equal(done.error, ERR_REGISTRATION_FAILED);
    assert_non_null(strstr(done.detail, "memory"));
    json_t *status = client_status(s.c);
    char *text = json_dumps(status, JSON_COMPACT);
    assert_null(strstr(text, "registration_failed"));
    free(text);
    json_decref(status);
    struct client_request other = request(&s, CLIENT_GET, "k", 30000, 20000);
    done = carry_out(&s, &other); /* at once: the link is up */
    assert_int_equal(done.error, 0);
    assert_int_equal(done.transport, CLIENT_OVER_RC);
    assert_memory_equal(s.data, s.data + 30000, 20000);
    assert_int_equal(small_logged(s.w, PAIR_CLIENT, "could not be lent"), 0);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_that_cannot_be_registered_fails_its_request_and_no_other),
        cmocka_unit_test(a_value_goes_out_of_and_comes_into_the_callers_memory),
        cmocka_unit_test(memory_that_is_known_is_registered_once),
        cmocka_unit_test(memory_that_is_not_known_serves_one_request),
        cmocka_unit_test(one_bad_key_does_not_spoil_the_others),
        cmocka_unit_test(a_prefix_goes_before_the_key),
        cmocka_unit_test(a_small_buffer_is_told_what_is_needed_and_not_touched),
        cmocka_unit_test(a_deadline_ends_a_request_once),
        cmocka_unit_test(a_cancelled_request_ends_when_nothing_can_touch_its_memory),
        cmocka_unit_test(cancelling_comes_too_late_for_what_is_done),
        cmocka_unit_test(what_is_too_much_is_refused_as_a_whole),
        cmocka_unit_test(a_batch_may_be_larger_than_what_a_server_takes_at_once),
        cmocka_unit_test(a_client_may_end_with_requests_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
