/* features.h - what the mbedTLS that is loaded must be able to do.
 *
 * Its headers say what the one had that we were built with; another may be loaded.
 *
 * Private to proto/tls.  Threads: any.  Source: mbedtls/version.h. */
#ifndef WD_TLS_FEATURES_H
#define WD_TLS_FEATURES_H

#include "proto/c/status.h"

/* Answers as mbedtls_version_check_feature: 0 when `name` was built in. */
typedef int (*wd_tls_feature_probe)(const char *name);

/* Errors: FAILED_PRECONDITION when `probe` denies a feature; the message names it, and
 *         a library that has it. */
WD_MUST_USE wd_status wd_tls_features_check(wd_tls_feature_probe probe, wd_error *err);

#endif
