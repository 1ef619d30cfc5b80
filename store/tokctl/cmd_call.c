/* tokctl call, describe - any method, in JSON; and what there is to call. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/tokctl/backend.h"
#include "store/tokctl/simple.h"

#define DATA_BYTES (8U << 20) /* of a request in JSON */

enum option_key { OPTION_DATA = 256 };

typedef struct arguments {
    wd_tokctl *ctl; /* first: see wd_tokctl_parse */
    const char *method;
    const char *data;
} arguments;

static const struct argp_option options[] = {
    {"data", OPTION_DATA, "JSON", 0,
     "The request [{}]; '@FILE' reads a file, '@-' standard input", 0},
    {0},
};

static const char doc[] =
    "Call any method with a request in JSON, and print the reply: protobuf's JSON with "
    "the proto's own field names.\v"
    "  tokctl call Health/Check\n"
    "  tokctl call warded.v1.Audit/Query --data '{\"limit\": 2}'\n\n"
    "METHOD is PACKAGE.SERVICE/NAME, or SERVICE/NAME for one of Warded's. What there "
    "is: tokctl describe. A reply has no columns: not -o csv or name.";

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case OPTION_DATA:
        args->data = value;
        return 0;
    case ARGP_KEY_ARG:
        if (args->method != NULL)
            wd_tokctl_misuse(state, "one METHOD, not also \"%s\"", value);
        args->method = value;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* "Health/Check", "warded.v1.Health/Check", "/warded.v1.Health/Check". */
static const wd_rpc_method *find_method(const char *name)
{
    char path[256];
    const wd_rpc_method *method = wd_method_find(name);
    if (method == NULL) {
        (void)snprintf(path, sizeof(path), "/%s", name);
        method = wd_method_find(path);
    }
    if (method == NULL) {
        (void)snprintf(path, sizeof(path), "/warded.v1.%s", name);
        method = wd_method_find(path);
    }
    return method;
}

static json_t *load_data(const char *data, json_error_t *ret_why)
{
    if (data == NULL)
        return json_object();
    if (strcmp(data, "@-") == 0)
        return json_loadf(stdin, JSON_REJECT_DUPLICATES, ret_why);
    if (data[0] == '@')
        return json_load_file(data + 1, JSON_REJECT_DUPLICATES, ret_why);
    return json_loads(data, JSON_REJECT_DUPLICATES, ret_why);
}

static wd_status read_request(const arguments *args, const wd_rpc_method *method,
                              wd_budget *budget, ProtobufCMessage **ret, wd_error *err)
{
    json_error_t why = {.line = 0};
    json_t *data = load_data(args->data, &why);
    if (data == NULL)
        return wd_fail(err, WD_INVALID_ARGUMENT, "--data: %s, line %d", why.text,
                       why.line);
    wd_status status = wd_message_of_json(data, method->request, budget, ret, err);
    json_decref(data);
    return status;
}

static wd_status call(const arguments *args, const wd_rpc_method *method,
                      json_t **ret_record, wd_error *err)
{
    const ProtobufCMessage *reply = NULL;
    ProtobufCMessage *request = NULL;
    WD_AUTO(wd_backend) *backend = NULL;
    WD_AUTO(wd_budget) *budget = wd_budget_new(DATA_BYTES);
    if (budget == NULL)
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory");
    WD_TRY(read_request(args, method, budget, &request, err));
    WD_TRY(wd_backend_open(args->ctl, &backend, err));
    WD_TRY(wd_backend_call(backend, method->path, request, &reply, err));
    *ret_record = wd_message_json(reply, WD_JSON_PROTO);
    return WD_OK;
}

/* A reply of any form has no columns. */
static void settle_format(wd_tokctl *ctl)
{
    wd_error err;
    if (ctl->format == WD_FORMAT_TABLE || ctl->format == WD_FORMAT_WIDE)
        ctl->format = WD_FORMAT_JSON;
    if (ctl->field != NULL || ctl->format == WD_FORMAT_JSON ||
        ctl->format == WD_FORMAT_JSONL)
        return;
    (void)wd_fail(&err, WD_INVALID_ARGUMENT,
                  "a reply has no columns: -o json or jsonl, or --field NAME");
    wd_tokctl_usage(ctl, &err);
}

static int run_call(wd_tokctl *ctl, int argc, char **argv)
{
    static const wd_column none[] = {{NULL, NULL, WD_COLUMN_TEXT, false}};
    arguments args = {.ctl = ctl};
    json_t *record = NULL;
    wd_error err = {0};
    wd_tokctl_parse(&wd_verb_call, argc, argv, &args);
    settle_format(ctl);
    const wd_rpc_method *method = args.method != NULL ? find_method(args.method) : NULL;
    if (method == NULL || method->streams) {
        (void)wd_fail(&err, WD_INVALID_ARGUMENT, "%s: see tokctl describe",
                      args.method == NULL ? "a METHOD is missing"
                      : method == NULL    ? "there is no such method"
                                          : "streams are not for call");
        wd_tokctl_usage(ctl, &err);
    }
    if (call(&args, method, &record, &err) != WD_OK)
        return wd_tokctl_fail(ctl, &err);
    return wd_output_one(ctl, none, record) ? WD_EXIT_OK : WD_EXIT_FAILED;
}

const wd_verb wd_verb_call = {
    .name = "call",
    .help = "call any method, in JSON",
    .args = "METHOD",
    .doc = doc,
    .options = options,
    .parser = parse,
    .run = run_call,
};

/* --- describe -------------------------------------------------------------------------------- */

static const wd_column method_columns[] = {
    {"METHOD", "method", WD_COLUMN_TEXT, false},
    {"SCOPE", "scope", WD_COLUMN_TEXT, false},
    {"CHANGES", "mutates", WD_COLUMN_TEXT, false},
    {"MOST", "max_timeout_ms", WD_COLUMN_SPAN, false},
    {"WHAT", "help", WD_COLUMN_LONG, false},
    {NULL, NULL, WD_COLUMN_TEXT, false},
};

static json_t *method_record(const wd_rpc_method *method)
{
    return json_pack("{s:s, s:s, s:b, s:I, s:s}", "method", method->path + 1, "scope",
                     method->scope, "mutates", (int)method->mutates, "max_timeout_ms",
                     (json_int_t)method->max_timeout_ms, "help", method->help);
}

static bool print_methods(const wd_tokctl *ctl, const char *service)
{
    WD_AUTO(wd_output) *out = wd_output_new(ctl, method_columns);
    if (out == NULL)
        return false;
    for (size_t i = 0; i < wd_service_count(); i++) {
        const wd_rpc_service *s = wd_service_at(i);
        if (service != NULL && strstr(s->name, service) == NULL)
            continue;
        for (size_t k = 0; k < s->n_methods; k++)
            wd_output_add(out, method_record(&s->methods[k]));
    }
    return wd_output_end(out);
}

static bool is_people(const wd_tokctl *ctl)
{
    return ctl->field == NULL &&
           (ctl->format == WD_FORMAT_TABLE || ctl->format == WD_FORMAT_WIDE);
}

/* For programs: a record with the fields as text. */
static bool print_method(const wd_tokctl *ctl, const wd_rpc_method *method)
{
    WD_AUTO(wd_text) *request = wd_message_describe(method->request);
    WD_AUTO(wd_text) *reply = wd_message_describe(method->reply);
    if (request == NULL || reply == NULL)
        return false;
    if (!is_people(ctl)) {
        json_t *record = method_record(method);
        (void)json_object_set_new(record, "request", json_string(request));
        (void)json_object_set_new(record, "reply", json_string(reply));
        return wd_output_one(ctl, method_columns, record);
    }
    printf("%s\n    %s\n", method->path, method->help);
    printf("    scope: %s\n", method->scope[0] != '\0' ? method->scope : "(any token)");
    printf("  request\n%s  reply\n%s", request, reply);
    return fflush(stdout) == 0;
}

static int run_describe(wd_tokctl *ctl, int argc, char **argv)
{
    arguments args = {.ctl = ctl};
    wd_error err = {0};
    wd_tokctl_parse(&wd_verb_describe, argc, argv, &args);
    if (args.method != NULL && strchr(args.method, '/') != NULL) {
        const wd_rpc_method *method = find_method(args.method);
        if (method != NULL)
            return print_method(ctl, method) ? WD_EXIT_OK : WD_EXIT_FAILED;
        (void)wd_fail(&err, WD_NOT_FOUND, "there is no method %.100s", args.method);
        return wd_tokctl_fail(ctl, &err);
    }
    return print_methods(ctl, args.method) ? WD_EXIT_OK : WD_EXIT_FAILED;
}

const wd_verb wd_verb_describe = {
    .name = "describe",
    .help = "what there is to call",
    .args = "[SERVICE|METHOD]",
    .doc = "List the methods of a gate of this version, or show the fields of one.\v"
           "  tokctl describe Token\n"
           "  tokctl describe Token/Issue",
    .parser = parse,
    .flags = WD_VERB_ALONE,
    .run = run_describe,
};
