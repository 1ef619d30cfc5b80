/* Stage "auth": whose token is it, and is it good here and now. */
#include <string.h>

#include "server/guesses.h"
#include "server/listener.h"
#include "server/parts.h"
#include "server/stages.h"
#include "store/token_table.h"

/* From here on a cancel, a revocation or a lost connection finds the call. It is entered
 * before its token is checked: a revocation then either sees it or makes the check fail. */
static void enter(wd_call *call)
{
    wd_live *live = &call->live;

    live->pipe = call->peer->pipe;
    live->principal = wd_principal_uri(call->peer->principal);
    if (call->request->kind != WD_REQUEST_CANCEL) /* which names another call's id */
        memcpy(live->call_id, call->id_bytes, sizeof(live->call_id));
    (void)wd_token_claimed_id(call->request->token, live->token_id);
    wd_inflight_add(call->gate->inflight, live);
}

wd_step wd_auth_check(wd_call *call, wd_error *err)
{
    const wd_gate *gate = call->gate;
    const wd_token_proof proof = {
        .token = call->request->token,
        .peer_uri = call->peer->identity.uri,
        .peer_cert = call->peer->identity.cert_sha256,
        .peer_key = call->peer->identity.key_sha256,
        .peer_address = call->peer->address,
        .gate_uri = gate->uri,
        .now_ms = wd_store_now_ms(gate->store),
    };

    if (wd_listener_denies(gate->listener, &call->peer->identity)) {
        (void)wd_refuse(err, WD_REASON_IDENTITY_DENIED,
                        "the certificate of %s is on the gate's deny list",
                        call->peer->identity.uri);
        return WD_FAILED;
    }
    enter(call);
    if (wd_token_check(wd_store_tokens(gate->store), &proof, &call->token, err) ==
        WD_OK)
        return WD_NEXT;
    return err->reason == WD_REASON_TOKEN_UNKNOWN ? wd_guesses_refuse(call, err)
                                                  : WD_FAILED;
}
