/* Tables and thunks that protoc-gen-warded made: of our services, and of one it has
 * never seen (tests/support/acme/echo/v1/echo.proto). */
#include "acme/echo/v1/echo.wd.h"
#include "google/protobuf/empty.pb-c.h"
#include "proto/c/rule.h"
#include "tests/unit/proto/proto_test.h"
#include "warded/v1/audit.wd.h"
#include "warded/v1/health.wd.h"
#include "warded/v1/observation.wd.h"
#include "warded/v1/reset.wd.h"
#include "warded/v1/step.wd.h"
#include "warded/v1/token.wd.h"

/* A server's call, as far as generated code goes. */
struct wd_call {
    const ProtobufCMessage *reply;
    void *self;
    char said[32];
};

wd_status wd_call_set_reply(struct wd_call *call, const ProtobufCMessage *message,
                            wd_error *err)
{
    (void)err;
    call->reply = message;
    return WD_OK;
}

static const wd_method *find_method(const wd_service_info *service, const char *path)
{
    for (size_t i = 0; i < service->n_methods; i++)
        if (strcmp(service->methods[i].path, path) == 0)
            return &service->methods[i];
    return NULL;
}

/* The method of that path, which must be there. */
static const wd_method *echo_method(const char *path)
{
    const wd_method *method = find_method(&wd_acme_echo_v1_echo, path);
    if (method == NULL)
        abort();
    return method;
}

static wd_step say(void *self, struct wd_call *call,
                   const Acme__Echo__V1__SayRequest *request, wd_error *err)
{
    call->self = self;
    (void)snprintf(call->said, sizeof(call->said), "%s", request->text);
    if (request->loudness == ACME__ECHO__V1__LOUDNESS__LOUD) {
        (void)wd_refuse(err, WD_REASON_FIELD_INVALID, "not so loud");
        return WD_FAILED;
    }
    Acme__Echo__V1__SayReply reply = ACME__ECHO__V1__SAY_REPLY__INIT;
    reply.text = request->text;
    if (wd_acme_echo_v1_echo_reply_say(call, &reply, err) != WD_OK)
        return WD_FAILED;
    assert_ptr_equal(call->reply, &reply);
    call->reply = NULL;
    return WD_PARKED;
}

static void a_thunk_hands_the_typed_request_to_its_handler(void **state)
{
    (void)state;
    const wd_method *method = echo_method("/acme.echo.v1.Echo/Say");
    int self = 0;
    const wd_acme_echo_v1_echo_service service = {.self = &self, .say = say};
    Acme__Echo__V1__SayRequest request = ACME__ECHO__V1__SAY_REQUEST__INIT;
    char hello[] = "hello";
    request.text = hello;
    struct wd_call call = {.reply = NULL};
    wd_error err = {.status = WD_OK};
    assert_int_equal(method->invoke(&service, &call, &request.base, &err), WD_PARKED);
    assert_ptr_equal(call.self, &self);
    assert_string_equal(call.said, "hello");

    request.loudness = ACME__ECHO__V1__LOUDNESS__LOUD;
    assert_int_equal(method->invoke(&service, &call, &request.base, &err), WD_FAILED);
    assert_int_equal(err.reason, WD_REASON_FIELD_INVALID);
}

static void a_handler_left_out_is_not_built(void **state)
{
    (void)state;
    const wd_method *method = echo_method("/acme.echo.v1.Echo/Ping");
    const wd_acme_echo_v1_echo_service service = {.self = NULL, .say = say};
    struct wd_call call = {.reply = NULL};
    wd_error err = {.status = WD_OK};
    Acme__Echo__V1__PingRequest request = ACME__ECHO__V1__PING_REQUEST__INIT;
    assert_int_equal(method->invoke(&service, &call, &request.base, &err), WD_FAILED);
    expect_refused(err.status, &err, WD_REASON_NOT_BUILT);
    assert_non_null(strstr(err.msg, "/acme.echo.v1.Echo/Ping"));
}

static void the_table_says_what_the_rules_say(void **state)
{
    (void)state;
    assert_string_equal(wd_acme_echo_v1_echo.name, "acme.echo.v1.Echo");
    assert_int_equal(wd_acme_echo_v1_echo.n_methods, 4);
    const wd_method *rows = wd_acme_echo_v1_echo.methods;

    assert_string_equal(rows[0].path, "/acme.echo.v1.Echo/Say");
    assert_string_equal(rows[0].service, "acme.echo.v1.Echo");
    assert_string_equal(rows[0].scope, "echo:say");
    assert_true(rows[0].mutates && rows[0].audited && rows[0].built);
    assert_false(rows[0].lane || rows[0].streams);
    assert_int_equal(rows[0].max_timeout_ms, 5000);
    assert_ptr_equal(rows[0].request, &acme__echo__v1__say_request__descriptor);
    assert_ptr_equal(rows[0].reply, &acme__echo__v1__say_reply__descriptor);

    assert_string_equal(rows[1].scope, "");
    assert_false(rows[1].audited);
    assert_true(rows[1].lane);
    assert_int_equal(rows[1].max_timeout_ms, 30000);

    assert_string_equal(rows[2].name, "Whisper");
    assert_int_equal(rows[2].record, WD_RECORD_BATCH);
    assert_ptr_equal(rows[2].request, &acme__echo__v1__say_request__mood__descriptor);
    assert_ptr_equal(rows[2].reply, &google__protobuf__empty__descriptor);

    assert_true(rows[3].streams);
    assert_false(rows[3].built);
    assert_true(rows[3].invoke == NULL);
}

static void our_methods_are_all_there_and_each_is_lawful(void **state)
{
    (void)state;
    static const wd_service_info *const ours[] = {
        &wd_warded_v1_observation, &wd_warded_v1_reset, &wd_warded_v1_step,
        &wd_warded_v1_token,       &wd_warded_v1_audit, &wd_warded_v1_health};
    static const char *const built[] = {"/warded.v1.Observation/GetObservation",
                                        "/warded.v1.Observation/ListTools",
                                        "/warded.v1.Token/Issue",
                                        "/warded.v1.Token/Renew",
                                        "/warded.v1.Token/Rotate",
                                        "/warded.v1.Token/Retire",
                                        "/warded.v1.Token/Revoke",
                                        "/warded.v1.Token/List",
                                        "/warded.v1.Token/Show",
                                        "/warded.v1.Token/WhoAmI",
                                        "/warded.v1.Token/Check",
                                        "/warded.v1.Token/Unwrap",
                                        "/warded.v1.Audit/Query",
                                        "/warded.v1.Audit/Tail",
                                        "/warded.v1.Audit/Show",
                                        "/warded.v1.Audit/Verify",
                                        "/warded.v1.Audit/Head",
                                        "/warded.v1.Audit/Checkpoint",
                                        "/warded.v1.Audit/Stats",
                                        "/warded.v1.Audit/Export",
                                        "/warded.v1.Audit/Prune",
                                        "/warded.v1.Health/Check",
                                        "/warded.v1.Health/Connections"};
    size_t n_methods = 0;
    size_t n_built = 0;
    size_t n_unaudited = 0;
    for (size_t s = 0; s < COUNT(ours); s++) {
        for (size_t m = 0; m < ours[s]->n_methods; m++) {
            const wd_method *method = &ours[s]->methods[m];
            n_methods++;
            n_built += method->built ? 1 : 0;
            n_unaudited += method->audited ? 0 : 1;
            assert_int_equal(method->built, method->invoke != NULL);
            assert_true(method->max_timeout_ms > 0);
            assert_false(method->mutates && !method->audited);
        }
        for (size_t b = 0; b < COUNT(built); b++) {
            const wd_method *method = find_method(ours[s], built[b]);
            assert_true(method == NULL || method->built);
        }
    }
    assert_int_equal(n_methods, 35);
    assert_int_equal(n_built, COUNT(built));
    assert_int_equal(n_unaudited, 1); /* Health.Check alone */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thunk_hands_the_typed_request_to_its_handler),
        cmocka_unit_test(a_handler_left_out_is_not_built),
        cmocka_unit_test(the_table_says_what_the_rules_say),
        cmocka_unit_test(our_methods_are_all_there_and_each_is_lawful),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
