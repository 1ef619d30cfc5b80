#include "server/service/services.h"

#include "warded/v1/reset.wd.h"
#include "warded/v1/step.wd.h"

wd_status wd_services_add(wd_gate *gate, wd_error *err)
{
    wd_registry *registry = gate->registry;

    WD_TRY(wd_service_health_add(registry, err));
    WD_TRY(wd_service_token_add(registry, err));
    WD_TRY(wd_service_trail_add(registry, err));
    WD_TRY(wd_service_observation_add(registry, err));
    WD_TRY(wd_registry_add(registry, &wd_warded_v1_reset, NULL, err));
    return wd_registry_add(registry, &wd_warded_v1_step, NULL, err);
}
