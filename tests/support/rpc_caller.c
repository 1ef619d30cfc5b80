/* rpc_caller PROFILE - libwarded at the end of a pipe, for tests/client/test_c_*.py. A
 * line in is a command, a line out its answer:
 *     check MS           ok SEQ NOW_MS, or REASON PHASE CODE RUN RETRY ALERT ID MESSAGE
 *     pad MS BYTES       the same with so much padding
 *     id HEX MS          with a call id of one's own
 *     meta MS KEY VALUE  with metadata
 *     observe MS WALL_MS HEX  one action: result STATUS REASON (numbers), or a failure
 *     many THREADS EACH  ok N, failed N
 *     fork, fork-open    what a forked child is answered
 *     reopen             closes the channel, opens another */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/c/sha256.h"
#include "warded/v1/health.wdc.h"
#include "warded/v1/observation.wdc.h"
#include "warded/warded.h"

#define PADDING_MOST (17U << 20)

typedef struct caller {
    wd_channel_options options;
    wd_channel *channel;
} caller;

typedef struct crowd {
    wd_channel *channel;
    unsigned long each;
    atomic_ulong ok, failed;
} crowd;

static void tell_failure(const wd_failure *f)
{
    char number[16];
    printf("%s %s %u %d %llu %u %s %s | %s\n", wd_failure_reason(f, number),
           wd_phase_name(f->phase), f->code, (int)f->may_have_run,
           (unsigned long long)f->retry_after_ms, f->alert,
           f->call_id[0] != '\0' ? f->call_id : "-", f->message, wd_failure_cure(f));
}

static bool check(wd_channel *channel, wd_rpc *rpc, size_t padding)
{
    Warded__V1__HealthCheckRequest ask = WARDED__V1__HEALTH_CHECK_REQUEST__INIT;
    ask.padding.data = calloc(1, PADDING_MOST + 1);
    ask.padding.len = padding < PADDING_MOST ? padding : PADDING_MOST;
    const Warded__V1__HealthCheckReply *reply =
        wd_warded_v1_health_call_check(channel, rpc, &ask);
    free(ask.padding.data);
    return reply != NULL && reply->padding.len == padding;
}

static void say_check(const caller *c, wd_rpc *rpc, size_t padding)
{
    if (check(c->channel, rpc, padding))
        printf("ok %llu %llu\n", (unsigned long long)rpc->head_seq,
               (unsigned long long)rpc->now_ms);
    else
        tell_failure(&rpc->failure);
    wd_rpc_done(rpc);
}

static void *run_crowd(void *arg)
{
    crowd *all = arg;
    for (unsigned long i = 0; i < all->each; i++) {
        wd_rpc rpc = {.timeout_ms = 30000};
        bool ok = check(all->channel, &rpc, i % 7);
        if (!ok)
            (void)fprintf(stderr, "%s\n", rpc.failure.message);
        atomic_fetch_add(ok ? &all->ok : &all->failed, 1);
        wd_rpc_done(&rpc);
    }
    return NULL;
}

static void many(const caller *c, unsigned long threads, unsigned long each)
{
    crowd all = {.channel = c->channel, .each = each};
    pthread_t thread[64];
    for (unsigned long i = 0; i < threads && i < 64; i++)
        if (pthread_create(&thread[i], NULL, run_crowd, &all) != 0)
            abort();
    for (unsigned long i = 0; i < threads && i < 64; i++)
        pthread_join(thread[i], NULL);
    printf("ok %lu failed %lu\n", atomic_load(&all.ok), atomic_load(&all.failed));
}

static void in_child(const caller *c, bool open)
{
    fflush(stdout);
    pid_t child = fork();
    if (child != 0) {
        (void)waitpid(child, NULL, 0);
        return;
    }
    wd_rpc rpc = {.timeout_ms = 1000};
    if (open)
        (void)wd_channel_open(&c->options, &rpc.failure);
    else
        (void)check(c->channel, &rpc, 0);
    tell_failure(&rpc.failure);
    wd_channel_close(c->channel);
    fflush(stdout);
    _exit(0);
}

static bool reopen(caller *c)
{
    wd_failure failure;
    wd_channel_close(c->channel);
    c->channel = wd_channel_open(&c->options, &failure);
    if (c->channel == NULL)
        tell_failure(&failure);
    return c->channel != NULL;
}

static void with_id(const caller *c, const char *line)
{
    char hex[33] = "";
    unsigned ms = 0;
    wd_rpc rpc = {.timeout_ms = 0};
    if (sscanf(line, "id %32s %u", hex, &ms) != 2 ||
        !wd_hex_parse(hex, rpc.call_id, sizeof(rpc.call_id)))
        abort();
    rpc.timeout_ms = ms;
    say_check(c, &rpc, 0);
}

static void with_metadata(const caller *c, const char *line)
{
    char key[64] = "";
    char value[64] = "";
    unsigned ms = 0;
    if (sscanf(line, "meta %u %63s %63s", &ms, key, value) < 2)
        abort();
    const char *const pairs[] = {key, value[0] != '\0' ? value : NULL, NULL};
    wd_rpc rpc = {.timeout_ms = ms, .metadata = pairs};
    say_check(c, &rpc, 0);
}

/* HEX: the action's text. */
static void observe(const caller *c, const char *line)
{
    char hex[200] = "";
    char action[100] = "";
    unsigned ms = 0, wall_ms = 0;
    if (sscanf(line, "observe %u %u %199s", &ms, &wall_ms, hex) != 3 ||
        !wd_hex_parse(hex, (uint8_t *)action, strlen(hex) / 2))
        abort();
    Warded__V1__Limits limits = WARDED__V1__LIMITS__INIT;
    Warded__V1__Item item = WARDED__V1__ITEM__INIT;
    Warded__V1__Item *items[] = {&item};
    Warded__V1__GetObservationRequest ask = WARDED__V1__GET_OBSERVATION_REQUEST__INIT;
    limits.wall_ms = wall_ms;
    item = (Warded__V1__Item){.base = item.base,
                              .trajectory_id = "t",
                              .action = action,
                              .tool = "python_code",
                              .arguments = "",
                              .extra = "",
                              .limits = &limits};
    ask.items = items;
    ask.n_items = 1;
    wd_rpc rpc = {.timeout_ms = ms};
    const Warded__V1__GetObservationReply *reply =
        wd_warded_v1_observation_call_get_observation(c->channel, &rpc, &ask);
    if (reply != NULL && reply->n_results == 0)
        puts("no result");
    else if (reply != NULL)
        printf("result %d %d\n", (int)reply->results[0]->status,
               (int)reply->results[0]->reason);
    else
        tell_failure(&rpc.failure);
    wd_rpc_done(&rpc);
}

static void obey(caller *c, const char *line)
{
    unsigned long a = 0, b = 0;
    int n = sscanf(line, "%*s %lu %lu", &a, &b);
    wd_rpc rpc = {.timeout_ms = a};
    if (strncmp(line, "check ", 6) == 0 || strncmp(line, "pad ", 4) == 0)
        say_check(c, &rpc, n > 1 ? b : 0);
    else if (strncmp(line, "id ", 3) == 0)
        with_id(c, line);
    else if (strncmp(line, "meta ", 5) == 0)
        with_metadata(c, line);
    else if (strncmp(line, "observe ", 8) == 0)
        observe(c, line);
    else if (strncmp(line, "many ", 5) == 0)
        many(c, a, b);
    else if (strncmp(line, "fork", 4) == 0)
        in_child(c, strncmp(line, "fork-open", 9) == 0);
    else if (strncmp(line, "reopen", 6) == 0 && reopen(c))
        puts("ok");
}

int main(int argc, char **argv)
{
    char line[256];
    caller c = {.options = {.profile = argc > 1 ? argv[1] : NULL}};
    if (!reopen(&c))
        return 1;
    while (fgets(line, sizeof(line), stdin) != NULL) {
        obey(&c, line);
        (void)fflush(stdout);
    }
    wd_channel_close(c.channel);
    return 0;
}
