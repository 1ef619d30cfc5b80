#include "server/service/verdict.h"

#include <sys/wait.h>

#define STATUS(name) WARDED__V1__RESULT__STATUS__##name

static wd_verdict by_itself(int wait_status)
{
    bool well = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0;
    return (wd_verdict){well ? STATUS(OK) : STATUS(TOOL_ERROR), WD_REASON_NONE};
}

/* The process tree is gone: by itself, or by which limit. */
static wd_verdict ended(const Warded__Exec__V1__Done *done)
{
    switch (done->cause) {
    case WARDED__EXEC__V1__DONE__CAUSE__NONE:
        return by_itself(done->wait_status);
    case WARDED__EXEC__V1__DONE__CAUSE__WALL:
    case WARDED__EXEC__V1__DONE__CAUSE__CPU:
        return (wd_verdict){STATUS(TIMEOUT), WD_REASON_RUN_TIMEOUT};
    case WARDED__EXEC__V1__DONE__CAUSE__MEMORY:
    case WARDED__EXEC__V1__DONE__CAUSE__PIDS:
    case WARDED__EXEC__V1__DONE__CAUSE__OUTPUT:
    case WARDED__EXEC__V1__DONE__CAUSE__FILESIZE:
        return (wd_verdict){STATUS(RESOURCE_LIMIT), WD_REASON_NONE};
    case WARDED__EXEC__V1__DONE__CAUSE__CANCEL:
        return (wd_verdict){STATUS(CANCELLED), WD_REASON_CANCELLED};
    case _WARDED__EXEC__V1__DONE__CAUSE_IS_INT_SIZE:
        break;
    }
    return (wd_verdict){STATUS(INFRA), WD_REASON_WORKER_FAILED};
}

static wd_verdict answered(const Warded__Exec__V1__Done *done)
{
    switch (done->outcome) {
    case WARDED__EXEC__V1__DONE__OUTCOME__ENDED:
        return ended(done);
    case WARDED__EXEC__V1__DONE__OUTCOME__NOT_STARTED:
        if (done->cause == WARDED__EXEC__V1__DONE__CAUSE__CANCEL)
            return (wd_verdict){STATUS(CANCELLED), WD_REASON_CANCELLED};
        return (wd_verdict){STATUS(BUSY), WD_REASON_QUEUE_TIMEOUT};
    case WARDED__EXEC__V1__DONE__OUTCOME__FAILED:
        return (wd_verdict){STATUS(INFRA), WD_REASON_SANDBOX_UNAVAILABLE};
    case WARDED__EXEC__V1__DONE__OUTCOME__REFUSED: /* its configuration is not ours */
    case WARDED__EXEC__V1__DONE__OUTCOME__OUTCOME_UNSPECIFIED:
    case _WARDED__EXEC__V1__DONE__OUTCOME_IS_INT_SIZE:
        break;
    }
    return (wd_verdict){STATUS(INFRA), WD_REASON_WORKER_FAILED};
}

wd_verdict wd_verdict_of(wd_job_end end, const Warded__Exec__V1__Done *done)
{
    switch (end) {
    case WD_JOB_DONE:
        if (done != NULL)
            return answered(done);
        break;
    case WD_JOB_LOST:
        return (wd_verdict){STATUS(INFRA), WD_REASON_EXECUTOR_DIED};
    case WD_JOB_UNAVAILABLE:
        return (wd_verdict){STATUS(INFRA), WD_REASON_SANDBOX_UNAVAILABLE};
    case WD_JOB_FULL:
        return (wd_verdict){STATUS(BUSY), WD_REASON_QUEUE_FULL};
    case WD_JOB_WITHDRAWN:
        return (wd_verdict){STATUS(CANCELLED), WD_REASON_CANCELLED};
    case WD_JOB_NONE:
        break;
    }
    return (wd_verdict){STATUS(INFRA), WD_REASON_BUG};
}

/* One line a status: how it is called, and how it counts for the record. */
static const struct {
    const char *name;
    const char *outcome;
    wd_status code; /* unless the reason has a status of its own */
    bool content;
} statuses[] = {
    [STATUS(STATUS_UNSPECIFIED)] = {"UNSPECIFIED", "failed", WD_INTERNAL, false},
    [STATUS(OK)] = {"OK", "ok", WD_OK, true},
    [STATUS(INVALID_ACTION)] = {"INVALID_ACTION", "refused", WD_INVALID_ARGUMENT, true},
    [STATUS(TOOL_ERROR)] = {"TOOL_ERROR", "failed", WD_OK, true},
    [STATUS(TIMEOUT)] = {"TIMEOUT", "failed", WD_DEADLINE_EXCEEDED, true},
    [STATUS(RESOURCE_LIMIT)] = {"RESOURCE_LIMIT", "failed", WD_RESOURCE_EXHAUSTED,
                                true},
    [STATUS(DENIED)] = {"DENIED", "refused", WD_PERMISSION_DENIED, true},
    [STATUS(BUSY)] = {"BUSY", "refused", WD_DEADLINE_EXCEEDED, false},
    [STATUS(CANCELLED)] = {"CANCELLED", "failed", WD_CANCELLED, true},
    [STATUS(INFRA)] = {"INFRA", "failed", WD_INTERNAL, false},
};

#define N_STATUSES (sizeof(statuses) / sizeof(statuses[0]))

static size_t index_of(Warded__V1__Result__Status status)
{
    return (size_t)status < N_STATUSES ? (size_t)status : 0;
}

const char *wd_verdict_outcome(Warded__V1__Result__Status status)
{
    return statuses[index_of(status)].outcome;
}

wd_status wd_verdict_code(wd_verdict verdict)
{
    if (verdict.reason != WD_REASON_NONE)
        return wd_reason_status(verdict.reason);
    return statuses[index_of(verdict.status)].code;
}

const char *wd_verdict_name(Warded__V1__Result__Status status)
{
    return statuses[index_of(status)].name;
}

bool wd_verdict_has_content(Warded__V1__Result__Status status)
{
    return statuses[index_of(status)].content;
}
