/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames as they stand in a record (MK-I2). What is accepted can be written again, and that, read
 * and written once more, does not change: text for people and unknown error names are tamed once.
 */
#include <string.h>

#include "src/wire/message.h"
#include "tests/fuzz/fuzz.h"

/* Writes `message` to `out`; how many bytes. */
static size_t encode(const struct wire_message *message, uint8_t *out, size_t room)
{
    size_t written = 0;
    HOLDS(wire_message_encode(message, out, room, &written));
    return written;
}

static void check_message(const struct wire_message *message)
{
    static uint8_t once[WIRE_MESSAGE_ROOM], twice[sizeof once];
    struct wire_message again;
    size_t used = 0, length = encode(message, once, sizeof once);
    HOLDS(wire_message_decode(once, length, &again, &used) == FABRIC_OK && used == length);
    HOLDS(encode(&again, twice, sizeof twice) == length && memcmp(once, twice, length) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    struct wire_message message;
    for (size_t at = 0, used = 0; at < length; at += used) {
        used = 0;
        if (wire_message_decode(data + at, length - at, &message, &used))
            return 0;
        HOLDS(used > 0 && used <= length - at);
        check_message(&message);
    }
    return 0;
}
