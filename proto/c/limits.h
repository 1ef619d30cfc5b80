/* limits.h - every bound of Warded that is not a setting, with its unit and reason.
 *
 * Threads: any.  Source: docs/protocol.md. Settings have their bounds in
 * server/config.h; this page holds what both ends of the wire must agree on. */
#ifndef WD_LIMITS_H
#define WD_LIMITS_H

/* Wire. */
#define WD_FRAME_BYTES        (16U << 20) /* envelope, largest; setting limits.frame_bytes */
#define WD_FRAME_SLACK_BYTES  (64U << 10) /* above it NNG drops; up to it: TOO_LARGE */
#define WD_METADATA_BYTES     (8U << 10)  /* keys and values together */
#define WD_METADATA_ENTRIES   64U
#define WD_METHOD_BYTES       255U
#define WD_BATCH_ITEMS        1024U
#define WD_METADATA_KEY_BYTES 64U
#define WD_TOKEN_BYTES        255U /* longer is no token, whatever its form */
#define WD_CALL_ID_BYTES      16U  /* a UUID */
#define WD_TRAJECTORY_BYTES   255U
#define WD_ACTION_BYTES       (1U << 20)
#define WD_STDIN_BYTES        (1U << 20)
#define WD_EXTRA_BYTES        (64U << 10)

/* Of the bytes of all requests a principal has one part in so many; with the slack beside
 * limits.request_bytes, which the gate adds, a part takes the largest frame. */
#define WD_SHARES              4U
#define WD_REQUEST_SLACK_BYTES (256U << 10)
_Static_assert(WD_REQUEST_SLACK_BYTES == WD_SHARES * WD_FRAME_SLACK_BYTES, "each");

/* Decoding: 1 MiB + 8 x the input. protobuf-c takes up to 84 times the input. */
#define WD_DECODE_BASE_BYTES (1U << 20)
#define WD_DECODE_FACTOR     8U

/* Time. */
#define WD_TIMEOUT_DEFAULT_MS 30000U
#define WD_TIMEOUT_MOST_MS    86400000U /* clients'; above every method's maximum */
#define WD_CALL_FLOOR_MS      (15 * 60 * 1000) /* older call ids: CALL_ID_EXPIRED */
#define WD_CALL_AHEAD_MS      (60 * 1000)      /* newer ones: CLOCK_SKEW */
#define WD_HANDSHAKE_MS       5000
#define WD_GREETING_MS        10000

/* A peer that neither answers nor takes what is sent is gone: after 5 + 3 x 5 = 20 s, so
 * that with the grace its actions are dead before the default deadline. */
#define WD_KEEPALIVE_IDLE_S     5
#define WD_KEEPALIVE_INTERVAL_S 5
#define WD_KEEPALIVE_PROBES     3

/* Job socket between the gate and warded-execd. */
#define WD_JOB_FRAME_BYTES (32U << 20)

/* Identity. */
#define WD_URI_BYTES    1024U /* a SPIFFE id, longest; SPIFFE-ID.md allows 2,048 */
#define WD_SHA256_BYTES 32U

#endif
