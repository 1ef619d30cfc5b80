/* store_script.h - a store's life in a few steps, to be run with a fault at each point of
 * it: opened anew, a token issued, rows, sealed, rows, the token revoked, read, closed.
 *
 * Threads: the test's, and those of verifying.
 * Owns:    a folder in /dev/shm, removed by wd_script_done. */
#ifndef WD_TESTS_STORE_SCRIPT_H
#define WD_TESTS_STORE_SCRIPT_H

#include "store/audit_verify.h"
#include "tests/support/store_fixture.h"

#define WD_SCRIPT_ROWS 3 /* before sealing, and after */

typedef struct wd_script {
    wd_fixture base;    /* first; options.vfs may be set before the run */
    bool may_lack_room; /* refusals may say RESOURCE_EXHAUSTED: memory is what fails */
    void (*begins)(void); /* called before the first step; NULL: nothing */
    void (*ends)(void);   /* and after the last */

    /* What was said to be durable. */
    wd_head heads[16];
    size_t n_heads;
    char token[11]; /* "": none was issued */
    bool revoked;
    bool sealed;

    int n_refused;   /* jobs */
    double worst_ms; /* that a refusal took */
} wd_script;

void wd_script_init(wd_script *s);
void wd_script_done(wd_script *s);

/* All steps, or as many as the fault lets be: what was opened is left open. What cannot be
 * written must be refused as AUDIT_UNWRITABLE; the test fails otherwise. */
void wd_script_run(wd_script *s);

/* One row more, which must be written if the store is open: the fault has passed. */
void wd_script_recovers(wd_script *s, const char *what);

/* Closes, opens without faults: each row that was acknowledged is there, the chain and the
 * tokens verify, and a revocation that was acknowledged holds. */
void wd_script_check(wd_script *s, const char *what);

#endif
