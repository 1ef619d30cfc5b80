/* kept.h - replies that are kept for who asks again, and the calls that wait for one.
 *
 * Each call id that runs or has run holds a wd_kept (server/call_ids.h). Its answer is
 * awaited first, then there, and one day let go: when it is older than a call id may be,
 * when its principal has more than a quarter of all bytes, or when all have more than
 * `limits.reply_bytes` and its principal has most of them; the oldest goes first. What is
 * let go is REPLY_EVICTED.
 *
 * Threads: any; the keeper keeps its lock private. It calls nobody under it.
 * Owns:    the answers. wd_kept and wd_answer are counted.
 * Source:  docs/protocol.md, section 4. */
#ifndef WD_SERVER_KEPT_H
#define WD_SERVER_KEPT_H

#include "proto/c/buffer.h"
#include "proto/c/cleanup.h"
#include "proto/c/status.h"
#include "server/pool.h"

#include <stdint.h>
#include <sys/queue.h>

#define WD_KEPT_SHARES 4U /* a principal has at most this part of all bytes */

/* What a call was answered; never changes. */
typedef struct wd_answer wd_answer;

typedef TAILQ_HEAD(wd_answers, wd_answer) wd_answers;

/* The answers of one principal. */
typedef struct wd_kept_share {
    TAILQ_ENTRY(wd_kept_share) all; /* while it has any */
    wd_answers answers;             /* oldest first */
    uint64_t bytes;
} wd_kept_share;

typedef struct wd_kept wd_kept;
typedef struct wd_keeper wd_keeper;

/* `bytes`: of all answers together. NULL: no memory. */
wd_keeper *wd_keeper_new(uint64_t bytes);
void wd_keeper_free(wd_keeper *keeper); /* lets all answers go; NULL is fine */
WD_DEFINE_AUTO(wd_keeper, wd_keeper_free)

/* Let go what was settled before `mono_ms`. */
void wd_keeper_expire(wd_keeper *keeper, int64_t mono_ms);
uint64_t wd_keeper_bytes(wd_keeper *keeper); /* that are kept now */

void wd_kept_share_init(wd_kept_share *share);

/* An answer that is awaited, with one count. NULL: no memory. */
wd_kept *wd_kept_new(void);
wd_kept *wd_kept_ref(wd_kept *kept);
void wd_kept_unref(wd_kept *kept); /* NULL is fine */
WD_DEFINE_AUTO(wd_kept, wd_kept_unref)

/* Wait for the answer: the task comes out of wd_kept_settle. false: it is settled. */
bool wd_kept_await(wd_keeper *keeper, wd_kept *kept, wd_task *task);

/* The answer is there; *takes* one count of it. NULL: it could not be kept. `share`
 * outlives the keeper's answers. Returns those who wait, oldest first, linked by `next`:
 * they are the caller's now. */
wd_task *wd_kept_settle(wd_keeper *keeper, wd_kept *kept, wd_answer *answer,
                        wd_kept_share *share);

/* Its answer was let go, or never kept: there will be none any more. */
bool wd_kept_gone(wd_keeper *keeper, const wd_kept *kept);

/* The answer with one count more; NULL: let go, or still awaited. */
wd_answer *wd_kept_answer(wd_keeper *keeper, const wd_kept *kept);

/* Made at `mono_ms` of how a call ended. *Takes* the payload: *payload is empty after.
 * NULL: no memory, and nothing is taken. */
wd_answer *wd_answer_new(const wd_error *error, wd_buffer *payload, int64_t mono_ms);
wd_answer *wd_answer_ref(wd_answer *answer);
void wd_answer_unref(wd_answer *answer); /* NULL is fine; the last wipes the payload */
WD_DEFINE_AUTO(wd_answer, wd_answer_unref)

/* How the call ended; status WD_OK: well, with this payload. */
const wd_error *wd_answer_error(const wd_answer *answer);
wd_span wd_answer_payload(const wd_answer *answer);

#endif
