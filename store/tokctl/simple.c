#include "store/tokctl/simple.h"

#include "store/tokctl/backend.h"
#include "store/token.h"

int wd_simple_run(const wd_tokctl *ctl, const wd_simple *simple, json_t **ret_record)
{
    const ProtobufCMessage *reply = NULL;
    wd_error err = {0};
    WD_AUTO(wd_backend) *backend = NULL;
    if (wd_backend_open(ctl, &backend, &err) != WD_OK ||
        wd_backend_call(backend, simple->path, simple->request, &reply, &err) != WD_OK)
        return wd_tokctl_fail(ctl, &err);
    json_t *record = simple->record != NULL ? simple->record(reply) : wd_record(reply);
    if (ret_record != NULL)
        *ret_record = json_incref(record);
    return wd_output_one(ctl, simple->members, record) ? WD_EXIT_OK : WD_EXIT_FAILED;
}

void wd_simple_take_id(struct argp_state *state, char *value, char **place)
{
    if ((*place)[0] != '\0' || !wd_token_id_valid(value))
        wd_tokctl_misuse(state, "one ID, ten letters and digits");
    *place = value;
}
