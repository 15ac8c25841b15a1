/* SPDX-License-Identifier: Apache-2.0 */
/* What the conformance suite cannot see of the HTTP end point: TLS, peers that speak no HTTP or
 * leave, requests with a body. MK-I3, MK-I2. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/http_client.h"
#include "tests/support/os_bed.h"

static struct os_bed bed;
static char bound[FABRIC_ADDRESS_MAX];
static fabric_http http;

static int setup(void **state)
{
    const struct fabric_http_init init = {.address = "127.0.0.1:0"};
    (void)state;
    os_bed_open(&bed, NULL);
    return (int)fabric_http_listen(bed.f, &init, &http, bound);
}

static int teardown(void **state)
{
    (void)state;
    os_bed_close(&bed);
    return 0;
}

static void reply(fabric_http_request request, const char *body)
{
    const struct fabric_http_answer answer = {200, "text/plain", body, strlen(body)};
    assert_int_equal(fabric_http_reply(bed.f, request, &answer), FABRIC_OK);
}

/* Lets the fabric work until the client has its answer; requests are answered with their path. */
static struct http_client_answer await(struct http_client *client)
{
    uint64_t deadline = os_bed_now(&bed) + OS_BED_PATIENCE;
    struct http_client_answer answer;
    while (!http_client_read(client, &answer)) {
        struct fabric_event event;
        assert_true(os_bed_now(&bed) < deadline);
        if (os_bed_next(&bed, os_bed_now(&bed) + 5000000, &event) &&
            event.type == FABRIC_EVENT_HTTP_REQUEST)
            reply(event.u.http.request, event.u.http.path);
    }
    return answer;
}

static uint32_t status_of(const char *bytes)
{
    struct http_client *client = http_client_send(bound, bytes, strlen(bytes));
    assert_non_null(client);
    uint32_t status = await(client).status;
    http_client_free(client);
    return status;
}

static void what_is_no_request_is_answered_by_the_fabric(void **state)
{
    char huge[40000];
    (void)state;
    assert_int_equal(status_of("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), 200);
    assert_int_equal(status_of("POST /v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde"),
                     413);
    assert_int_equal(status_of("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                               "1\r\na\r\n0\r\n\r\n"),
                     413);
    assert_int_equal(status_of("ANEXTREMELYLONGMETHOD / HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
    assert_int_equal(status_of("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
    memset(huge, 'a', sizeof(huge));
    memcpy(huge, "GET /", 5);
    huge[sizeof(huge) - 1] = '\0';
    uint32_t status = status_of(huge);
    assert_true(status == 414 || status == 431 || status == 413 || status == 0);
    assert_int_equal(status_of("GET /again HTTP/1.1\r\nHost: a\r\n\r\n"), 200);
}

static void a_peer_that_leaves_before_its_answer_is_forgotten(void **state)
{
    (void)state;
    struct http_client *client = http_client_new(bound, "GET", "/slow");
    struct fabric_event event = os_bed_await(&bed, FABRIC_EVENT_HTTP_REQUEST);
    http_client_free(client);
    reply(event.u.http.request, "too late");
    assert_int_equal(status_of("GET /next HTTP/1.1\r\nHost: a\r\n\r\n"), 200);
}

static void silent_peers_keep_nobody_from_being_served(void **state)
{
    struct http_client *silent[100];
    (void)state;
    for (size_t i = 0; i < 100; i++) {
        silent[i] = http_client_send(bound, "GET / HT", i % 9);
        assert_non_null(silent[i]);
    }
    assert_int_equal(status_of("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), 200);
    for (size_t i = 0; i < 100; i++)
        http_client_free(silent[i]);
}

static void a_connection_is_used_again(void **state)
{
    static const char two[] = "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n"
                              "GET /2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    (void)state;
    struct http_client *client = http_client_send(bound, two, sizeof(two) - 1);
    struct fabric_event event = os_bed_await(&bed, FABRIC_EVENT_HTTP_REQUEST);
    assert_string_equal(event.u.http.path, "/1");
    reply(event.u.http.request, "one");
    event = os_bed_await(&bed, FABRIC_EVENT_HTTP_REQUEST);
    assert_string_equal(event.u.http.path, "/2");
    reply(event.u.http.request, "two");
    assert_int_equal(await(client).status, 200);
    http_client_free(client);
}

static void ending_with_a_request_unanswered_leaves_nothing(void **state)
{
    (void)state;
    struct http_client *client = http_client_new(bound, "GET", "/");
    os_bed_await(&bed, FABRIC_EVENT_HTTP_REQUEST);
    assert_int_equal(fabric_destroy(bed.f), FABRIC_OK);
    bed.f = NULL;
    http_client_free(client);
}

/* ------------------------------------------------------------------ TLS */

static void write_key(const char *path, EVP_PKEY *key)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL), 1);
    fclose(file);
}

/* A certificate that signs itself, and its key. */
static void make_pair(const char *certificate, const char *key_path)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x509 = X509_new();
    X509_NAME *name = X509_get_subject_name(x509);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"node", -1, -1, 0);
    X509_set_issuer_name(x509, name);
    X509_gmtime_adj(X509_getm_notBefore(x509), -60);
    X509_gmtime_adj(X509_getm_notAfter(x509), 3600);
    X509_set_pubkey(x509, key);
    assert_true(X509_sign(x509, key, EVP_sha256()) > 0);
    FILE *file = fopen(certificate, "w");
    assert_non_null(file);
    assert_int_equal(PEM_write_X509(file, x509), 1);
    fclose(file);
    write_key(key_path, key);
    X509_free(x509);
    EVP_PKEY_free(key);
}

/* One request over TLS in a process of its own; it ends with 0 when the answer is there. */
static int fetch_over_tls(const char *address)
{
    static const char request[] = "GET /tls HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    char buf[4096] = "";
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    BIO *bio = BIO_new_ssl_connect(context);
    BIO_set_conn_hostname(bio, address);
    if (BIO_write(bio, request, sizeof(request) - 1) <= 0)
        return 1;
    size_t used = 0;
    for (int got = 1; got > 0 && used < sizeof(buf) - 1;) {
        got = BIO_read(bio, buf + used, (int)(sizeof(buf) - 1 - used));
        used += got > 0 ? (size_t)got : 0;
    }
    return strstr(buf, "200 OK") && strstr(buf, "\r\n\r\n/tls") ? 0 : 2;
}

static void with_a_certificate_it_speaks_tls(void **state)
{
    struct fabric_http_init init = {.address = "127.0.0.1:0",
                                    .tls_cert = os_bed_path(&bed, "/cert.pem"),
                                    .tls_key = os_bed_path(&bed, "/key.pem")};
    char address[FABRIC_ADDRESS_MAX], command[16];
    fabric_http tls;
    (void)state;
    make_pair(init.tls_cert, init.tls_key);
    assert_int_equal(fabric_http_listen(bed.f, &init, &tls, address), FABRIC_OK);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    if (fork() == 0) {
        char result = (char)('0' + fetch_over_tls(address));
        ssize_t written = write(ends[1], &result, 1);
        _exit(written == 1 ? 0 : 1);
    }
    struct fabric_event event = os_bed_await(&bed, FABRIC_EVENT_HTTP_REQUEST);
    assert_string_equal(event.u.http.path, "/tls");
    reply(event.u.http.request, "/tls");
    struct pollfd watched = {ends[0], POLLIN, 0};
    for (size_t i = 0; i < 2000 && poll(&watched, 1, 0) == 0; i++)
        (void)os_bed_next(&bed, os_bed_now(&bed) + 10000000, &event);
    assert_int_equal(read(ends[0], command, 1), 1);
    assert_int_equal(command[0], '0');
    close(ends[0]);
    close(ends[1]);
}

static void a_certificate_that_cannot_be_used_is_refused_by_name(void **state)
{
    const char *cert = os_bed_path(&bed, "/cert.pem"), *key = os_bed_path(&bed, "/key.pem");
    const char *other = os_bed_path(&bed, "/other.pem");
    const struct fabric_http_init wrong[] = {
        {.address = "127.0.0.1:0", .tls_cert = cert, .tls_key = "/no/such/file"},
        {.address = "127.0.0.1:0", .tls_cert = "/no/such/file", .tls_key = key},
        {.address = "127.0.0.1:0", .tls_cert = key, .tls_key = cert},
        {.address = "127.0.0.1:0", .tls_cert = cert, .tls_key = other}, /* of another one */
        {.address = "127.0.0.1:0", .tls_cert = bed.folder, .tls_key = key},
    };
    char address[FABRIC_ADDRESS_MAX];
    fabric_http tls = {0};
    (void)state;
    make_pair(cert, other);
    make_pair(cert, key);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_int_equal(fabric_http_listen(bed.f, &wrong[i], &tls, address), ERR_TLS_INVALID);
    assert_int_equal(tls.id, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_no_request_is_answered_by_the_fabric),
        TEST(a_peer_that_leaves_before_its_answer_is_forgotten),
        TEST(silent_peers_keep_nobody_from_being_served),
        TEST(a_connection_is_used_again),
        TEST(ending_with_a_request_unanswered_leaves_nothing),
        TEST(with_a_certificate_it_speaks_tls),
        TEST(a_certificate_that_cannot_be_used_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
