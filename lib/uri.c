/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/uri.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "lib/error.h"
#include "src/fabric/planted.h"

#define SCHEME "memkv://"

/* How far the URI is read, and where the next decoded byte goes. */
struct reader {
    const char *begin, *at;
    char *out;
    struct memkv_error *error;
};

static int fail(const struct reader *r, const char *detail)
{
    char where[32];
    snprintf(where, sizeof where, "URI, column %zu", (size_t)(r->at - r->begin) + 1);
    return lib_error_set(r->error, ERR_CONFIG_INVALID, where, detail);
}

static int digit(char c)
{
    if (!isxdigit((unsigned char)c))
        return -1;
    return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

/* Decodes up to one of `ends` or the end of the URI (RFC 3986, 2.1). */
static int decode(struct reader *r, const char *ends)
{
    while (*r->at && !strchr(ends, *r->at)) {
        char c = *r->at;
        size_t length = 1;
        if (c == '%') {
            int high = digit(r->at[1]), low = high < 0 ? -1 : digit(r->at[2]);
            if (low < 0)
                return fail(r, "two hexadecimal digits are expected after %");
            c = (char)(high << 4 | low);
            length = 3;
        }
        if (((unsigned char)c < 0x20 || c == 0x7f) && !PLANTED(lib_uri_control_taken))
            return fail(r, "found a control character; none is expected, nor %00 to %1F or %7F");
        *r->out++ = c;
        r->at += length;
    }
    return MEMKV_OK;
}

static void end_word(struct reader *r)
{
    *r->out++ = '\0';
}

static int read_servers(struct reader *r)
{
    size_t length = strcspn(r->at, "/?#");
    const char *user = memchr(r->at, '@', length);
    if (length == 0)
        return fail(r, "a server is expected: memkv://HOST:PORT/NAMESPACE");
    if (user && !PLANTED(lib_uri_user_taken)) {
        r->at = user;
        return fail(r, "found a user; none is expected, the key is in the file auth_key_file");
    }
    r->out = stpcpy(r->out, "servers=");
    int code = decode(r, "/?#");
    end_word(r);
    return code;
}

/* A namespace and a key under it are never those of another namespace: a '/' parts them. */
static int read_namespace(struct reader *r, struct lib_uri *uri)
{
    uri->prefix = r->out;
    int code = MEMKV_OK;
    if (*r->at == '/') {
        r->at++;
        code = decode(r, "?#");
    }
    if (!code && r->out > uri->prefix && r->out[-1] != '/' && !PLANTED(lib_uri_namespace_open))
        *r->out++ = '/';
    end_word(r);
    return code;
}

static int read_setting(struct reader *r, const char **out)
{
    const char *begin = r->at, *word = *out = r->out;
    int code = decode(r, "&#");
    end_word(r);
    if (code)
        return code;
    const char *equals = strchr(word, '=');
    if (!equals || equals == word || !equals[1]) {
        r->at = begin;
        return fail(r, "KEY=VALUE is expected");
    }
    /* A URI stands in logs and lists of processes. */
    if (strncmp(word, "auth_key=", 9) == 0 && !PLANTED(lib_uri_secret_taken)) {
        r->at = begin;
        return fail(r, "a secret has no place in a URI: give auth_key_file, the file with it");
    }
    return MEMKV_OK;
}

static int read_settings(struct reader *r, struct lib_uri *uri, size_t count)
{
    while (*r->at == '?' || *r->at == '&') {
        r->at++;
        if (count > LIB_URI_SETTINGS)
            return fail(r, "there are more than 32 settings");
        int code = read_setting(r, &uri->settings[count]);
        if (code)
            return code;
        uri->settings[++count] = NULL;
    }
    return *r->at ? fail(r, "found #; a URI of MemKV has no fragment") : MEMKV_OK;
}

int lib_uri_read(const char *uri, struct lib_uri *out, struct memkv_error *error)
{
    assert(out);
    const char *text = uri ? uri : "";
    struct reader r = {.begin = text, .at = text, .out = out->text, .error = error};
    out->settings[0] = out->settings[1] = NULL;
    if (strncmp(text, SCHEME, strlen(SCHEME)) != 0)
        return fail(&r, "it begins otherwise; memkv://HOST:PORT/NAMESPACE is expected");
    if (strnlen(text, MEMKV_PLUGIN_MAX_URI + 1) > MEMKV_PLUGIN_MAX_URI) {
        r.at = text + MEMKV_PLUGIN_MAX_URI;
        return fail(&r, "it is too long: at most 4096 bytes are expected");
    }
    r.at += strlen(SCHEME);
    out->settings[0] = r.out;
    int code = read_servers(&r);
    code = code ? code : read_namespace(&r, out);
    code = code ? code : read_settings(&r, out, 1);
    assert(r.out <= out->text + sizeof out->text);
    return code;
}
