/* SPDX-License-Identifier: Apache-2.0 */
#include "src/fabric/sysfile.h"

#include <assert.h>
#include <string.h>

#include "src/fabric/planted.h"

static bool printable(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] < 0x20 || text[i] > 0x7e)
            return false;
    }
    return true;
}

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

enum fabric_error sysfile_line(struct fabric *f, const char *path, char *out)
{
    assert(f && path && out);
    char text[SYSFILE_LINE];
    size_t length = 0, start = 0;
    if (strlen(path) >= FABRIC_PATH_MAX)
        return ERR_TOO_LARGE;
    enum fabric_error error = fabric_sysfile_read(f, path, text, sizeof(text) - 1, &length);
    if (error)
        return error;
    while (length > 0 && blank(text[length - 1]))
        length--;
    while (start < length && blank(text[start]))
        start++;
    bool good = length > start && printable(text + start, length - start);
    if (!good && !PLANTED(fabric_sysfile_anything_is_text))
        return ERR_SYSFILE_INVALID;
    memcpy(out, text + start, length - start);
    out[length - start] = '\0';
    return FABRIC_OK;
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

bool sysfile_parse(const char *text, uint64_t most, uint64_t *out)
{
    assert(text && out);
    bool hex = text[0] == '0' && (text[1] | 0x20) == 'x';
    uint64_t base = hex ? 16 : 10, value = 0;
    const char *c = text + (hex ? 2 : 0);
    if (!*c)
        return false;
    for (; *c; c++) {
        int next = digit(*c);
        if (next >= (int)base || value > (UINT64_MAX - (uint64_t)next) / base)
            return false;
        value = value * base + (uint64_t)next;
    }
    if (value > most && !PLANTED(fabric_sysfile_number_unbounded))
        return false;
    *out = value;
    return true;
}

enum fabric_error sysfile_number(struct fabric *f, const char *path, uint64_t most, uint64_t *out)
{
    char line[SYSFILE_LINE];
    assert(out);
    enum fabric_error error = sysfile_line(f, path, line);
    if (error)
        return error;
    return sysfile_parse(line, most, out) ? FABRIC_OK : ERR_SYSFILE_INVALID;
}

bool sysfile_parse_bytes(const char *text, uint8_t *out, size_t count)
{
    assert(text && out && count);
    if (strlen(text) != 3 * count - 1)
        return false;
    for (size_t i = 0; i < count; i++, text += 3) {
        int high = digit(text[0]), low = digit(text[1]);
        if (high > 15 || low > 15 || text[2] != (i + 1 < count ? ':' : '\0'))
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

bool sysfile_name_ok(const char *name)
{
    assert(name);
    size_t length = strlen(name);
    return length > 0 && length < FABRIC_NAME_MAX && printable(name, length) &&
           !strpbrk(name, " /");
}

enum fabric_error sysfile_names(struct fabric *f, const char *path, char *out, size_t *length)
{
    assert(f && path && out && length);
    if (strlen(path) >= FABRIC_PATH_MAX)
        return ERR_TOO_LARGE;
    return fabric_sysfile_list(f, path, out, SYSFILE_NAMES, length);
}

bool sysfile_folder(struct fabric *f, const char *path)
{
    char names[SYSFILE_NAMES];
    size_t length;
    enum fabric_error error = sysfile_names(f, path, names, &length);
    return error != ERR_NOT_FOUND && error != ERR_NOT_SUPPORTED;
}

enum fabric_error sysfile_link_name(struct fabric *f, const char *path, char *out)
{
    assert(f && path && out);
    char target[FABRIC_PATH_MAX];
    if (strlen(path) >= FABRIC_PATH_MAX)
        return ERR_TOO_LARGE;
    enum fabric_error error = fabric_sysfile_link(f, path, target, sizeof(target));
    if (error)
        return error;
    const char *slash = strrchr(target, '/');
    const char *name = slash ? slash + 1 : target;
    if (!sysfile_name_ok(name))
        return ERR_SYSFILE_INVALID;
    memcpy(out, name, strlen(name) + 1);
    return FABRIC_OK;
}
