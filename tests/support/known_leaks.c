/* known_leaks.c - what LeakSanitizer is not to tell of a gate.
 *
 * NNG 1.10 loses the message that it sends on a connection which ends between two of its
 * three writes (tlstran_pipe_send_cb submits the next one to an aio that is closed by
 * then): docs/decisions/0005-our-own-tls-engine.md. tests/support/gate.py lets only a few
 * of them pass.
 * Source: sanitizer/lsan_interface.h. */
#include <sanitizer/lsan_interface.h>

/* The sanitizer is a shared library, which must see it. */
/* NOLINTNEXTLINE(bugprone-reserved-identifier): the sanitizer's own name for it */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void)
{
    return "leak:message_for_nng\n";
}
