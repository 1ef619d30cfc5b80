/* checkpoint_check.h - whose signature a checkpoint has: by the certificate that the store
 * keeps of its key, and by the CA that must have issued that.
 *
 * Threads: any.  Owns: nothing.
 * Source:  docs/audit.md, "Checkpoints". */
#ifndef WD_SERVER_CHECKPOINT_CHECK_H
#define WD_SERVER_CHECKPOINT_CHECK_H

#include "store/checkpoint.h"

/* `ca`: its certificates in PEM, which outlive the checker; NULL: whoever can write the
 * store could have put a certificate of his own there, and is not found out. */
wd_checker wd_checkpoint_checker(const char *ca);

#endif
