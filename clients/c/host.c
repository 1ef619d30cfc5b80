#include "clients/c/host.h"

#include <stdio.h>
#include <string.h>

#define OPT_IN_BYTES 256

/* What a refusal says beside the gate's name. */
typedef struct finding {
    const char *fact, *expected;
    const char *seen; /* NULL: the fact is missing */
    const char *cure;
} finding;

static wd_status refuse(const wd_identity *gate, const finding *f, wd_error *err)
{
    return wd_refuse(err, WD_REASON_HOST_NOT_ADOPTED,
                     "%.120s is not adopted: %s: expected %.100s, seen %.100s; %s",
                     gate->uri, f->fact, f->expected,
                     f->seen != NULL ? f->seen : "nothing (the fact is missing)",
                     f->cure);
}

/* NULL where the certificate does not say. */
static const char *fact_of(const wd_identity *gate, wd_fact fact)
{
    return gate->fact[fact][0] != '\0' ? gate->fact[fact] : NULL;
}

static bool same(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

static wd_status judge_endpoint(const wd_host_case *c, const wd_identity *gate,
                                wd_error *err)
{
    char expected[WD_ENDPOINT_TEXT_BYTES];
    const char *asserted = fact_of(gate, WD_FACT_ENDPOINT);
    bool covered = false;
    wd_error odd = {0};
    if (asserted != NULL &&
        wd_endpoint_asserted(asserted, c->expect, &covered, &odd) != WD_OK)
        asserted = odd.msg;
    if (covered)
        return WD_OK;
    wd_endpoint_format(c->expect, expected);
    const finding f = {"endpoint", expected, asserted,
                       "dial an endpoint that the gate's certificate names; through a "
                       "tunnel or a Service, write `ADDRESS as ENDPOINT` into the "
                       "profile's `server` file"};
    return refuse(gate, &f, err);
}

/* The URI and the facts must tell the same story. */
static wd_status judge_consistency(const wd_identity *gate, wd_error *err)
{
    static const char cure[] =
        "the gate's certificate contradicts itself: issue it anew";
    const wd_spiffe *id = &gate->parsed;
    const char *ns = fact_of(gate, WD_FACT_NAMESPACE);
    const char *pool = fact_of(gate, WD_FACT_POOL);
    const finding of_ns = {"namespace", id->ns, ns, cure};
    const finding of_pool = {"pool", id->pool, pool, cure};
    if (ns != NULL && !same(ns, id->ns))
        return refuse(gate, &of_ns, err);
    if (id->pool[0] != '\0' && pool != NULL && !same(pool, id->pool))
        return refuse(gate, &of_pool, err);
    return WD_OK;
}

/* A creator is told as an owner's name or as a client's whole SPIFFE id. */
static bool is_mine(const char *creator, const wd_spiffe *mine)
{
    wd_spiffe who;
    wd_error err;
    if (creator == NULL)
        return false;
    if (wd_spiffe_parse(creator, strlen(creator), &who, &err) != WD_OK ||
        who.kind != WD_SPIFFE_CLIENT)
        return same(creator, mine->owner);
    return same(who.domain, mine->domain) && same(who.ns, mine->ns) &&
           same(who.owner, mine->owner);
}

static wd_status judge_named(const wd_host_case *c, const wd_identity *gate,
                             const char *opt_in, wd_error *err)
{
    char named[128];
    if (!wd_policy_values(c->policy, WD_POLICY_GATE, named, sizeof(named)))
        (void)snprintf(named, sizeof(named), "a gate named by a `gate` line");
    const finding f = {"gate", named, gate->uri, opt_in};
    return refuse(gate, &f, err);
}

static wd_status judge_adoption(const wd_host_case *c, const wd_identity *gate,
                                wd_error *err)
{
    char opt_in[OPT_IN_BYTES];
    const char *ns = fact_of(gate, WD_FACT_NAMESPACE);
    const char *creator = fact_of(gate, WD_FACT_CREATOR);
    const finding of_domain = {"trust domain", c->mine->domain, gate->parsed.domain,
                               opt_in};
    const finding of_ns = {"namespace", c->mine->ns, ns, opt_in};
    const finding of_creator = {"creator", c->mine->owner, creator, opt_in};
    if (wd_policy_names(c->policy, gate->uri))
        return WD_OK;
    (void)snprintf(opt_in, sizeof(opt_in),
                   "to trust it, add `gate %.160s` to the profile's `policy` file",
                   gate->uri);
    if (c->policy->adopt == WD_ADOPT_NEVER)
        return judge_named(c, gate, opt_in, err);
    if (!same(gate->parsed.domain, c->mine->domain))
        return refuse(gate, &of_domain, err);
    if (!same(ns, c->mine->ns))
        return refuse(gate, &of_ns, err);
    if (c->policy->adopt != WD_ADOPT_OWN || is_mine(creator, c->mine))
        return WD_OK;
    strncat(opt_in, ", or `adopt namespace`", sizeof(opt_in) - strlen(opt_in) - 1);
    return refuse(gate, &of_creator, err);
}

static wd_status judge_listed(const wd_host_case *c, const wd_identity *gate,
                              wd_policy_word word, wd_fact fact, wd_error *err)
{
    char allowed[128];
    char cure[OPT_IN_BYTES];
    const char *seen = fact_of(gate, fact);
    if (!wd_policy_forbids(c->policy, word, seen))
        return WD_OK;
    (void)wd_policy_values(c->policy, word, allowed, sizeof(allowed));
    (void)snprintf(cure, sizeof(cure),
                   "to accept it, add a line `%s %.100s` to `policy`",
                   wd_fact_name(fact), seen != NULL ? seen : "...");
    const finding f = {wd_fact_name(fact), allowed, seen, cure};
    return refuse(gate, &f, err);
}

wd_status wd_host_judge(const wd_host_case *c, const wd_identity *gate, wd_error *err)
{
    const finding no_gate = {"URI", "a gate's SPIFFE id", gate->uri,
                             "this peer is no gate"};
    if (gate->parsed.kind != WD_SPIFFE_GATE)
        return refuse(gate, &no_gate, err);
    WD_TRY(judge_endpoint(c, gate, err));
    WD_TRY(judge_consistency(gate, err));
    WD_TRY(judge_adoption(c, gate, err));
    WD_TRY(judge_listed(c, gate, WD_POLICY_IMAGE, WD_FACT_IMAGE, err));
    return judge_listed(c, gate, WD_POLICY_POOL, WD_FACT_POOL, err);
}
