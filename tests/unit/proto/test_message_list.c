/* A list whose elements stand for themselves: a text of one is no other's fault. */
#include "proto/c/message.h"

#include "tests/unit/proto/proto_test.h"
#include "warded/v1/observation.pb-c.h"
#include "warded/v1/token.pb-c.h"

static const ProtobufCMessageDescriptor *const batch =
    &warded__v1__get_observation_request__descriptor;

static void expect_fault(const wd_text_fault *fault, size_t element, const char *field,
                         wd_reason reason)
{
    assert_non_null(fault);
    assert_int_equal(fault->element, element);
    assert_string_equal(fault->field, field);
    assert_int_equal(fault->reason, reason);
    assert_true(strlen(fault->message) > 0);
}

#define GOOD "\x0A\x03\x12\x01z" /* an item whose action is z */

static void a_fault_of_an_element_is_told_and_its_neighbours_decoded(void **state)
{
    (void)state;
    const wd_span bytes = SPAN(GOOD "\x0A\x04\x12\x02\xFF"
                                    "b" /* no UTF-8 */
                               GOOD "\x0A\x07\x0A\x01"
                                    "a"
                                    "\x12\x02"
                                    "a\0"                              /* a NUL */
                                    "\x0A\x06\x32\x04\x0A\x02\xC3\xC3" /* of a file */
                                    "\x0A\x06\x0A\x01\0"
                                    "\x12\x01\0" /* two */ GOOD);
    WD_AUTO(wd_budget) *budget = wd_budget_new(bytes.size);
    wd_listed got = {.message = NULL};
    wd_error err;
    assert_int_equal(wd_message_decode_list(batch, bytes, budget, &got, &err), WD_OK);
    const Warded__V1__GetObservationRequest *all = (const void *)got.message;
    assert_int_equal(all->n_items, 7);
    for (size_t i = 0; i < 7; i += i == 2 ? 4 : 2)
        assert_string_equal(all->items[i]->action, "z");
    assert_string_equal(all->items[1]->action, "??");
    assert_string_equal(all->items[3]->trajectory_id, "a");
    assert_string_equal(all->items[3]->action, "??");
    assert_string_equal(all->items[4]->files[0]->path, "??");
    const wd_text_fault *fault = got.faults;
    expect_fault(fault, 1, "action", WD_REASON_MALFORMED);
    assert_int_equal(fault->text.size, 2);
    assert_memory_equal(fault->text.data,
                        "\xFF"
                        "b",
                        2);
    expect_fault(fault = fault->next, 3, "action", WD_REASON_FIELD_INVALID);
    expect_fault(fault = fault->next, 4, "files", WD_REASON_MALFORMED);
    expect_fault(fault = fault->next, 5, "trajectory_id", WD_REASON_FIELD_INVALID);
    expect_fault(fault = fault->next, 5, "action", WD_REASON_FIELD_INVALID);
    assert_null(fault->next);
}

static void a_list_without_faults_is_decoded_as_ever(void **state)
{
    (void)state;
    const wd_span bytes = SPAN("\x0A\x07\x0A\x01"
                               "t"
                               "\x12\x02\xC3\xA9" GOOD);
    WD_AUTO(wd_budget) *budget = wd_budget_new(bytes.size);
    wd_listed got = {.message = NULL};
    assert_int_equal(wd_message_decode_list(batch, bytes, budget, &got, NULL), WD_OK);
    assert_null(got.faults);
    WD_AUTO_BUFFER again = WD_BUFFER_INIT;
    assert_int_equal(wd_message_encode(got.message, &again, NULL), WD_OK);
    assert_memory_equal(again.data, bytes.data, bytes.size);
}

static void a_fault_outside_the_list_is_the_whole_message_s(void **state)
{
    (void)state;
    static const struct {
        const ProtobufCMessageDescriptor *type;
        wd_span bytes;
        wd_reason reason;
    } cases[] = {
        /* no field "items": the name of a token */
        {&warded__v1__issue_request__descriptor, BYTES("\x0A\x01\xFF"),
         WD_REASON_MALFORMED},
        {&warded__v1__get_observation_request__descriptor, BYTES("\x0A\x01\xFF"),
         WD_REASON_MALFORMED}, /* an item that is no protobuf */
        {&warded__v1__get_observation_request__descriptor, BYTES("\x0A\x02\x10\x01"),
         WD_REASON_MALFORMED}, /* an action that is a number */
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        WD_AUTO(wd_budget) *budget = wd_budget_new(cases[i].bytes.size);
        wd_listed got = {.message = NULL};
        wd_error err = {.status = WD_OK};
        wd_status status =
            wd_message_decode_list(cases[i].type, cases[i].bytes, budget, &got, &err);
        expect_refused(status, &err, cases[i].reason);
        assert_null(got.message);
    }
}

/* Each element costs a fault and its words: at some number the budget is spent. */
static void faults_without_end_meet_the_budget(void **state)
{
    (void)state;
    static const char faulty[] = "\x0A\x03\x12\x01\xFF";
    WD_AUTO_BUFFER bytes = WD_BUFFER_INIT;
    for (unsigned i = 0; i < 200000; i++)
        assert_true(wd_buffer_append(&bytes, faulty, 5));
    WD_AUTO(wd_budget) *budget = wd_budget_new(bytes.size);
    wd_listed got = {.message = NULL};
    wd_error err = {.status = WD_OK};
    wd_status status =
        wd_message_decode_list(batch, wd_buffer_span(&bytes), budget, &got, &err);
    expect_refused(status, &err, WD_REASON_TOO_LARGE);
    assert_true(wd_budget_used(budget) <= wd_budget_limit(budget));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fault_of_an_element_is_told_and_its_neighbours_decoded),
        cmocka_unit_test(a_list_without_faults_is_decoded_as_ever),
        cmocka_unit_test(a_fault_outside_the_list_is_the_whole_message_s),
        cmocka_unit_test(faults_without_end_meet_the_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
