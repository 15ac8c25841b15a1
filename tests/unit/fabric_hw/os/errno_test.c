/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "fabric_hw/os/os.h"
#include "fabric_hw/os/state.h"

/* Without memory or threads left EAGAIN comes; only a lock that is held says by it that it is busy.
 */
static void what_may_be_tried_again_is_a_want_of_resources(void **state)
{
    (void)state;
    assert_int_equal(os_error(EAGAIN), ERR_RESOURCES_EXHAUSTED);
    assert_int_equal(os_error(EWOULDBLOCK), ERR_RESOURCES_EXHAUSTED);
    assert_int_equal(os_error(EBUSY), ERR_BUSY);
}

static void storage_has_the_errors_of_its_contract_and_no_other(void **state)
{
    (void)state;
    assert_int_equal(os_io_error(ENOENT), ERR_NOT_FOUND);
    assert_int_equal(os_io_error(EISDIR), ERR_INVALID_ARGUMENT);
    assert_int_equal(os_io_error(EFBIG), ERR_TOO_LARGE);
    assert_int_equal(os_io_error(EROFS), ERR_READ_ONLY);
    assert_int_equal(os_io_error(EIO), ERR_MEDIA_FAILED);
    assert_int_equal(os_io_error(EPIPE), ERR_MEDIA_FAILED);
    assert_int_equal(os_io_error(ESRCH), ERR_MEDIA_FAILED); /* no name of its own */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_may_be_tried_again_is_a_want_of_resources),
        cmocka_unit_test(storage_has_the_errors_of_its_contract_and_no_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
