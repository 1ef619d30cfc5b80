#include "server/contexts.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/crowd.h"
#include "server/parts.h"
#include "server/pipeline.h"
#include "server/unread.h"

struct wd_slot {
    wd_contexts *all;
    nng_ctx ctx;
    nng_aio *aio;
    nng_msg *request;       /* while a call is in the slot */
    wd_peer *peer;          /* owned count: whose; counted until its reply was taken */
    uint64_t request_bytes; /* charged to the peer's account */
    uint64_t reply_bytes;   /* charged, until NNG has the reply */
    wd_unread_reply unread; /* while NNG sends it */
    bool placed;            /* it has one of the places of limits.in_flight */
    bool sending;
};

struct wd_contexts {
    wd_gate *gate;
    wd_slot *slots;
    size_t n_slots;
    wd_unread *unread;
    atomic_uint_fast64_t busy, placed;
};

/* Take the next request. */
static void receive(wd_slot *slot)
{
    slot->sending = false;
    nng_ctx_recv(slot->ctx, slot->aio);
}

/* NULL: it is nobody's. */
static wd_tls_account *account_of(const wd_slot *slot)
{
    return slot->peer != NULL ? slot->peer->account : NULL;
}

/* From here the request counts as the gate's, until it is freed. */
static void charge(wd_slot *slot)
{
    slot->request_bytes = nng_msg_len(slot->request);
    wd_tls_account_take(account_of(slot), slot->request_bytes);
}

static void free_request(wd_slot *slot)
{
    if (slot->request != NULL)
        nng_msg_free(WD_STEAL(slot->request));
    wd_tls_account_release(account_of(slot), slot->request_bytes);
    slot->request_bytes = 0;
}

static void leave_place(wd_slot *slot)
{
    wd_principal_places_remove(slot->peer->principal);
    (void)atomic_fetch_sub(&slot->all->placed, 1);
    slot->placed = false;
}

static void leave_peer(wd_slot *slot)
{
    wd_tls_account_reply_gone(account_of(slot), slot->reply_bytes);
    slot->reply_bytes = 0;
    wd_principal_calls_remove(slot->peer->principal);
    wd_peer_unref(slot->all->gate->peers, WD_STEAL(slot->peer));
}

/* Forget the call that was in the slot. */
static void vacate(wd_slot *slot)
{
    free_request(slot);
    if (slot->placed)
        leave_place(slot);
    if (slot->peer != NULL)
        leave_peer(slot);
    (void)atomic_fetch_sub(&slot->all->busy, 1);
}

/* The engine closes it, not nng_pipe_close: NNG 1.10 loses a message that is sent while
 * another thread closes its pipe. */
void wd_contexts_cut(wd_gate *gate, const wd_peer *peer, wd_reason reason,
                     const char *why)
{
    if (wd_tls_account_cut(peer->account))
        wd_rejects_note(gate->rejects, &(wd_reject){.event = "conn",
                                                    .address = peer->address,
                                                    .reason = wd_reason_name(reason),
                                                    .detail = why});
}

/* --- calls ------------------------------------------------------------------------------- */

/* A place for the call, if it may have one; which others see from here. */
static wd_crowd take_place(wd_slot *slot, uint64_t busy)
{
    wd_contexts *all = slot->all;

    slot->placed = true;
    return (wd_crowd){
        .in_flight = atomic_load(&all->gate->limits.in_flight),
        .contexts = all->n_slots,
        .busy = busy,
        .placed = atomic_fetch_add(&all->placed, 1) + 1,
        .own_busy = wd_principal_calls_add(slot->peer->principal),
        .own_placed = wd_principal_places_add(slot->peer->principal),
    };
}

/* From here what is in the slot costs its principal. *Takes* the peer. */
static wd_call *admit(wd_slot *slot, wd_peer *peer, uint64_t busy)
{
    wd_gate *gate = slot->all->gate;
    wd_call *call = calloc(1, sizeof(*call));

    slot->peer = peer;
    charge(slot);
    const wd_crowd crowd = take_place(slot, busy);
    wd_room room = wd_crowd_judge(&crowd);
    if (room != WD_ROOM)
        leave_place(slot);
    if (call == NULL)
        return NULL;
    call->gate = gate;
    call->slot = slot;
    call->peer = peer;
    call->frame = (wd_span){nng_msg_body(slot->request), nng_msg_len(slot->request)};
    call->received_ns = wd_clock_mono_ns(gate->clock);
    call->room = room;
    call->share = wd_crowd_share(&crowd);
    return call;
}

/* A call of the request in the slot, or NULL when there is no memory or its connection
 * is gone already, or is cut off. */
static wd_call *new_call(wd_slot *slot, uint64_t busy)
{
    wd_peers *peers = slot->all->gate->peers;
    uint32_t pipe = (uint32_t)nng_pipe_id(nng_msg_get_pipe(slot->request));
    wd_peer *peer = wd_peers_find(peers, pipe);

    if (peer == NULL)
        return NULL;
    if (!wd_tls_account_is_cut(peer->account))
        return admit(slot, peer, busy);
    wd_peer_unref(peers, peer);
    return NULL;
}

static void received(wd_slot *slot)
{
    uint64_t busy = atomic_fetch_add(&slot->all->busy, 1) + 1;
    slot->request = nng_aio_get_msg(slot->aio);
    wd_call *call = new_call(slot, busy);
    if (call == NULL) {
        vacate(slot);
        receive(slot);
        return;
    }
    wd_pipeline_start(call);
}

/* The reply was taken, or nobody is there to take it. */
static void sent(wd_slot *slot, int result)
{
    if (result != 0) {
        nng_msg *message = nng_aio_get_msg(slot->aio);
        if (message != NULL)
            nng_msg_free(message);
        nng_aio_set_msg(slot->aio, NULL);
    } else {
        slot->reply_bytes = 0; /* the connection's now */
    }
    wd_unread_remove(slot->all->unread, &slot->unread);
    vacate(slot);
    if (result != NNG_ECLOSED)
        receive(slot);
}

static void slot_event(void *arg)
{
    wd_slot *slot = arg;
    int result = nng_aio_result(slot->aio);
    if (slot->sending)
        sent(slot, result);
    else if (result == 0)
        received(slot);
    else if (result != NNG_ECLOSED && result != NNG_ECANCELED)
        receive(slot);
}

bool wd_slot_reserve(wd_slot *slot, size_t bytes)
{
    free_request(slot);
    if (wd_tls_account_charge_reply(account_of(slot), bytes) != WD_TLS_CHARGED)
        return false;
    slot->reply_bytes = bytes;
    return true;
}

/* For NNG to free; NULL: no memory. By this name tests/support/known_leaks.c knows those
 * that NNG loses. */
static nng_msg *message_for_nng(wd_span reply)
{
    nng_msg *message = NULL;

    if (nng_msg_alloc(&message, reply.size) != 0)
        return NULL;
    memcpy(nng_msg_body(message), reply.data, reply.size);
    return message;
}

void wd_slot_send(wd_slot *slot, wd_span reply)
{
    nng_msg *message = NULL;

    free_request(slot);
    if (reply.size > 0 && !wd_tls_account_is_cut(account_of(slot)))
        message = message_for_nng(reply);
    if (message == NULL) {
        vacate(slot);
        receive(slot);
        return;
    }
    slot->sending = true;
    wd_unread_add(slot->all->unread, &slot->unread, slot->peer,
                  wd_clock_mono_ms(wd_clock_system()));
    nng_aio_set_msg(slot->aio, message);
    nng_ctx_send(slot->ctx, slot->aio);
}

/* --- open, start, free ------------------------------------------------------------------- */

static wd_status open_slot(wd_contexts *contexts, nng_socket socket, wd_error *err)
{
    wd_slot *slot = &contexts->slots[contexts->n_slots];

    slot->all = contexts;
    int code = nng_ctx_open(&slot->ctx, socket);
    if (code == 0)
        code = nng_aio_alloc(&slot->aio, slot_event, slot);
    if (code != 0)
        return wd_fail(err, WD_FAILED_PRECONDITION, "can't open a context: %s",
                       nng_strerror(code));
    contexts->n_slots++;
    return WD_OK;
}

static wd_status open_slots(wd_contexts *contexts, nng_socket socket, wd_error *err)
{
    size_t n = contexts->gate->config->limits.in_flight + WD_GATE_RESERVED;

    contexts->slots = calloc(n, sizeof(*contexts->slots));
    if (contexts->slots == NULL)
        return wd_fail(err, WD_INTERNAL, "no memory for %zu contexts", n);
    while (contexts->n_slots < n)
        WD_TRY(open_slot(contexts, socket, err));
    return WD_OK;
}

wd_status wd_contexts_open(wd_gate *gate, nng_socket socket, wd_contexts **ret_contexts,
                           wd_error *err)
{
    wd_contexts *contexts = calloc(1, sizeof(*contexts));

    if (contexts == NULL)
        return wd_fail(err, WD_INTERNAL, "no memory for the contexts");
    contexts->gate = gate;
    contexts->unread = wd_unread_new();
    wd_status status = contexts->unread != NULL
                           ? open_slots(contexts, socket, err)
                           : wd_fail(err, WD_INTERNAL, "no memory for the contexts");
    if (status != WD_OK)
        wd_contexts_free(contexts);
    else
        *ret_contexts = contexts;
    return status;
}

void wd_contexts_start(wd_contexts *contexts)
{
    for (size_t i = 0; i < contexts->n_slots; i++)
        receive(&contexts->slots[i]);
}

void wd_contexts_free(wd_contexts *contexts)
{
    if (contexts == NULL)
        return;
    for (size_t i = 0; i < contexts->n_slots; i++)
        nng_aio_free(contexts->slots[i].aio);
    free(contexts->slots);
    wd_unread_free(contexts->unread);
    free(contexts);
}

uint64_t wd_contexts_busy(const wd_contexts *contexts)
{
    return atomic_load(&contexts->busy);
}

/* --- in a crowd -------------------------------------------------------------------------- */

static void cut_reader(void *arg, const wd_peer *peer, size_t overdue)
{
    char detail[WD_URI_BYTES + 128];

    (void)snprintf(detail, sizeof(detail),
                   "contexts run short, and %s has left %zu replies unread for %d ms",
                   peer->identity.uri, overdue, WD_GATE_OVERDUE_MS);
    wd_contexts_cut(arg, peer, WD_REASON_QUOTA, detail);
}

void wd_contexts_relieve(wd_contexts *contexts)
{
    wd_gate *gate = contexts->gate;
    uint64_t busy = wd_contexts_busy(contexts);
    uint64_t most = contexts->n_slots - WD_GATE_RESERVED / 2;

    if (busy > most)
        wd_unread_relieve(contexts->unread, busy - most,
                          wd_clock_mono_ms(wd_clock_system()), cut_reader, gate);
}
