/* check.h - cmocka with its headers, and two checks for statuses.  Threads: one. */
#ifndef WD_TEST_TLS_CHECK_H
#define WD_TEST_TLS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "proto/c/status.h"

/* Passed, or the test ends with the error's own words. */
#define OK(expr, err)                                                                  \
    do {                                                                               \
        if ((expr) != WD_OK)                                                           \
            fail_msg("%s: %s", #expr, (err).msg);                                      \
    } while (0)

#define REFUSED(expr, expected) assert_int_equal((expr), (expected))

#endif
