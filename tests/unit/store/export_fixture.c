#include "tests/unit/store/export_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

const char *wd_export_line(wd_export_format format, const wd_audit_row *row,
                           wd_buffer *out)
{
    wd_buffer_clear(out);
    assert_true(wd_export_row(format, row, out));
    assert_true(wd_buffer_append(out, "", 1));
    const char *text = (const char *)out->data;
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1); /* one line */
    return text;
}
