/* whoami [PROFILE] - asks a gate whom it takes us for.
 *
 *     cc whoami.c $(pkg-config --cflags --libs warded) -o whoami */
#include <stdio.h>

#include <warded/v1/token.wdc.h>
#include <warded/warded.h>

static void print(const Warded__V1__WhoAmIReply *me)
{
    printf("principal  %s\n", me->principal);
    printf("gate       %s\n", me->gate);
    if (me->token == NULL)
        return;
    printf("token      %s, %s\n", me->token->id, me->token->name);
    for (size_t i = 0; i < me->token->n_scopes; i++)
        printf("scope      %s\n", me->token->scopes[i]);
}

static int tell(const wd_failure *failure)
{
    char number[16];
    fprintf(stderr, "%s [%s]: %s\n%s\n", wd_failure_reason(failure, number),
            wd_phase_name(failure->phase), failure->message, wd_failure_cure(failure));
    return 1;
}

int main(int argc, char **argv)
{
    const wd_channel_options options = {.profile = argc > 1 ? argv[1] : NULL};
    const Warded__V1__WhoAmIRequest nothing = WARDED__V1__WHO_AM_IREQUEST__INIT;
    wd_rpc rpc = {.timeout_ms = 10000};
    wd_failure failure;
    wd_channel *channel = wd_channel_open(&options, &failure);
    if (channel == NULL)
        return tell(&failure);

    const Warded__V1__WhoAmIReply *me =
        wd_warded_v1_token_call_who_am_i(channel, &rpc, &nothing);
    int status = 0;
    if (me != NULL)
        print(me);
    else
        status = tell(&rpc.failure);

    wd_rpc_done(&rpc);
    wd_channel_close(channel);
    return status;
}
