#include "server/checkpoint_check.h"

#include "proto/tls/sign.h"

static wd_status check(const void *arg, const wd_checkpoint *checkpoint, wd_span text,
                       const char *certificate, wd_error *err)
{
    const wd_tls_signed what = {
        .text = text,
        .signature = {checkpoint->signature, checkpoint->signature_size},
        .key_id = checkpoint->key_id,
        .uri = checkpoint->gate,
    };

    if (certificate == NULL)
        return wd_fail(err, WD_DATA_LOSS, "key %s has never signed here",
                       checkpoint->key_id);
    return wd_tls_signed_check(certificate, arg, &what, err);
}

wd_checker wd_checkpoint_checker(const char *ca)
{
    return (wd_checker){check, ca};
}
