#include "server/gate_boot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/c/sha256.h"
#include "server/audit_keeper.h"
#include "server/dedupe.h"
#include "server/delays.h"
#include "server/recovery.h"
#include "server/service/batch.h"
#include "server/service/services.h"

#define SERVICE_THREADS 4
#define READER_THREADS  2
#define REPLY_THREADS   2

/* --- credentials ------------------------------------------------------------------------- */

#define CURE_PAIR                                                                      \
    "; put the gate's certificate and its own key there, in PEM, the key not "         \
    "encrypted: `warded init` makes both in a new place"

wd_status wd_gate_load_credentials(const wd_config *config, wd_tls_credentials **ret,
                                   wd_error *err)
{
    const char *deny = config->identity.deny_list;
    WD_AUTO(wd_tls_credentials) *credentials = NULL;
    struct stat st;

    if (!config->identity.deny_list_set && lstat(deny, &st) != 0 && errno == ENOENT)
        deny = NULL; /* the default place need not be there: not even a broken link */
    const wd_tls_files files = {
        .ca = config->identity.ca,
        .cert = config->identity.cert,
        .key = config->identity.key,
        .deny_list = deny,
        .tls12 = config->listen.tls12,
        .cure_ca = "; put the certificates of the clients' CA there, in PEM",
        .cure_cert = CURE_PAIR,
        .cure_pair = CURE_PAIR,
    };
    WD_TRY(wd_tls_credentials_load(&files, &credentials, err));
    WD_TRY(wd_tls_credentials_check(credentials, true, err));
    *ret = WD_STEAL(credentials);
    return WD_OK;
}

/* `warded init` makes one only in a new place. */
#define NEW_DIGEST_KEY                                                                 \
    "put it back from a backup, or make another, with which the digests of earlier "   \
    "rows can't be compared: head -c 32 /dev/urandom >%s; chmod 0640 it, and chgrp "   \
    "it to %s"

wd_status wd_gate_load_digest_key(const wd_config *config, uint8_t *ret_key,
                                  wd_error *err)
{
    const char *path = config->identity.digest_key;
    uint8_t more; /* than it may hold */
    WD_AUTO_FD int fd = -1;

    if (access(path, F_OK) != 0 && errno == ENOENT)
        return wd_fail(err, WD_NOT_FOUND, "%s is missing: " NEW_DIGEST_KEY, path, path,
                       config->user);
    WD_TRY(wd_secret_file_check(path, err));
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return wd_fail(err, WD_PERMISSION_DENIED,
                       "%s: %s: chmod 0640 it, and chgrp it to %s", path,
                       strerror(errno), config->user);
    if (read(fd, ret_key, WD_SHA256_BYTES) != (ssize_t)WD_SHA256_BYTES ||
        read(fd, &more, 1) != 0)
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "%s must have %u bytes and has not: " NEW_DIGEST_KEY, path,
                       WD_SHA256_BYTES, path, config->user);
    return WD_OK;
}

/* --- the parts ----------------------------------------------------------------------------- */

static wd_status open_store(wd_gate *gate, wd_error *err)
{
    const wd_store_options options = {
        .dir = gate->config->store.path,
        .reserve_bytes = gate->config->audit.reserve_bytes,
        .clock = gate->clock,
        .vfs = gate->options.vfs,
    };

    WD_TRY(wd_store_open(&options, &gate->store, err));
    WD_AUTO(wd_reader) *reader = NULL;
    WD_TRY(wd_reader_open(options.dir, options.vfs, &reader, err));
    WD_TRY(wd_recovery_run(gate, reader, err));
    WD_TRY(wd_dedupe_restore(gate, reader, err));
    return wd_writer_start(gate->store, &gate->writer, err);
}

/* A call was signalled; its number is found by whoever has it. */
static void told(void *arg, uint64_t number)
{
    const wd_gate *gate = arg;

    (void)number;
    wd_batches_check(gate->batches);
}

static wd_status make_tables(wd_gate *gate, const wd_gate_hooks *hooks, wd_error *err)
{
    gate->registry = wd_registry_new();
    gate->peers = wd_peers_new();
    if (gate->peers != NULL)
        wd_peers_set_room(gate->peers, gate->files.connections);
    gate->inflight = wd_inflight_new(told, gate);
    gate->keeper = wd_keeper_new(gate->config->limits.reply_bytes);
    gate->rejects = wd_rejects_new();
    gate->batches = wd_batches_new(gate);
    gate->delays = wd_delays_new(hooks->changed, hooks->arg);
    if (gate->registry == NULL || gate->peers == NULL || gate->inflight == NULL ||
        gate->keeper == NULL || gate->rejects == NULL || gate->batches == NULL ||
        gate->delays == NULL)
        return wd_fail(err, WD_INTERNAL, "no memory for the gate's tables");
    WD_TRY(wd_services_add(gate, err));
    if (gate->options.add_services != NULL)
        WD_TRY(gate->options.add_services(gate->registry, gate->options.hook_arg, err));
    return wd_registry_check(gate->registry, err);
}

static wd_status start_threads(wd_gate *gate, const wd_gate_hooks *hooks, wd_error *err)
{
    const wd_link_options link = {
        .clock = gate->clock,
        .queue = gate->config->limits.queue,
        .changed = hooks->changed,
        .changed_arg = hooks->arg,
        .before_write = gate->options.before_job_write,
        .before_write_arg = gate->options.hook_arg,
    };

    WD_TRY(wd_pool_start("service", SERVICE_THREADS, &gate->service_pool, err));
    WD_TRY(wd_pool_start("reader", READER_THREADS, &gate->reader_pool, err));
    WD_TRY(wd_pool_start("reply", REPLY_THREADS, &gate->reply_pool, err));
    return wd_link_start(&link, &gate->link, err);
}

void wd_gate_set_limits(wd_gate *gate, const wd_config *config)
{
    atomic_store(&gate->limits.in_flight, config->limits.in_flight);
    atomic_store(&gate->limits.connections_per_principal,
                 config->limits.connections_per_principal);
    if (gate->link != NULL)
        wd_link_set_queue(gate->link, config->limits.queue);
}

wd_status wd_gate_boot(wd_gate *gate, const wd_gate_hooks *hooks, wd_error *err)
{
    WD_AUTO(wd_tls_credentials) *credentials = NULL;

    WD_TRY(wd_gate_load_credentials(gate->config, &credentials, err));
    WD_TRY(wd_gate_load_digest_key(gate->config, gate->digest_key, err));
    const wd_identity *own = wd_tls_credentials_identity(credentials);
    memcpy(gate->uri, own->uri, strlen(own->uri) + 1);
    memcpy(gate->pool, own->parsed.pool, sizeof(gate->pool));
    wd_gate_set_limits(gate, gate->config);
    WD_TRY(make_tables(gate, hooks, err));
    WD_TRY(open_store(gate, err));
    WD_TRY(wd_audit_keeper_start(gate, credentials, err));
    WD_TRY(start_threads(gate, hooks, err));
    const wd_listener_options listener = {
        .gate = gate,
        .credentials = credentials,
        .keepalive = gate->options.keepalive,
        .vanished = hooks->vanished,
        .arg = hooks->arg,
    };
    return wd_listener_open(&listener, &gate->listener, err);
}

void wd_gate_unboot(wd_gate *gate)
{
    if (gate->listener != NULL)
        wd_listener_shut(gate->listener);
    wd_audit_keeper_hurry(gate->audit_keeper);
    wd_link_stop(gate->link);
    wd_pool_stop(gate->service_pool);
    wd_pool_stop(gate->reader_pool);
    if (gate->rejects != NULL && gate->writer != NULL)
        wd_rejects_flush(gate->rejects, gate->writer);
    wd_audit_keeper_stop(gate->audit_keeper);
    wd_writer_stop(gate->writer);
    wd_pool_stop(gate->reply_pool);
    wd_listener_free(gate->listener);
    wd_store_close(gate->store);
    wd_batches_free(gate->batches);
    wd_delays_free(gate->delays);
    wd_rejects_free(gate->rejects);
    wd_inflight_free(gate->inflight);
    wd_keeper_free(gate->keeper);
    wd_peers_free(gate->peers);
    wd_registry_free(gate->registry);
    wd_wipe(gate->digest_key, sizeof(gate->digest_key));
}
