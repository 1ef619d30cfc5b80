/* token_spec.h - what an Issue asks for, as the store takes it.
 *
 * Threads: any; pure.  Owns: nothing; the spec borrows from the request. */
#ifndef WD_SERVER_SERVICE_TOKEN_SPEC_H
#define WD_SERVER_SERVICE_TOKEN_SPEC_H

#include "store/token_make.h"
#include "warded/v1/token.pb-c.h"

/* Every field of the request; no parent. The bounds are wd_token_make's to check.
 * Errors: INVALID_ARGUMENT FIELD_INVALID: a kind that there is not, a number too large */
WD_MUST_USE wd_status wd_token_spec_fill(const Warded__V1__IssueRequest *request,
                                         wd_token_spec *ret_spec, wd_error *err);

#endif
