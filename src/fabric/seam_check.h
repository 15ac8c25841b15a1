/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the seam share: every call goes through seam_enter and seam_leave.
 */
#ifndef SRC_FABRIC_SEAM_CHECK_H
#define SRC_FABRIC_SEAM_CHECK_H

#include <assert.h>

#include "src/fabric/fabric.h"
#include "src/fabric/planted.h"

/* Counts the call. */
static inline const struct fabric_ops *seam_enter(struct fabric *f, enum fabric_op op)
{
    assert(f && f->ops);
    if (!PLANTED(fabric_seam_uncounted))
        f->calls[op]++;
    return f->ops;
}

/* Counts the error, which must be one of the table. */
static inline enum fabric_error seam_leave(struct fabric *f, enum fabric_op op,
                                           enum fabric_error error)
{
    assert((unsigned int)error < ERR_COUNT || PLANTED(fabric_seam_any_error));
    if (error)
        f->errors[op]++;
    return error;
}

/* For operations that never fail. */
static inline enum fabric_error seam_leave_sure(struct fabric *f, enum fabric_op op,
                                                enum fabric_error error)
{
    assert(error == FABRIC_OK || PLANTED(fabric_seam_never_fails_unchecked));
    return seam_leave(f, op, error);
}

/* For constructors: the backend saw a zero handle of the seam's own, so that the caller's stays
 * untouched on an error whatever the backend does; but it must not have made one either. */
#define SEAM_MADE(error, made, out)                                                                \
    do {                                                                                           \
        assert(((error) != FABRIC_OK) == ((made).id == 0) || PLANTED(fabric_seam_half_made));      \
        if (!(error) || PLANTED(fabric_seam_out_touched))                                          \
            *(out) = (made);                                                                       \
    } while (0)

#endif
