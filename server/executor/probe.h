/* probe.h - which walls of the sandbox this machine can put up, found out by trying.
 *
 *     wd_layer_state layers[WD_LAYER_COUNT];
 *     wd_probe_layers(config, layers);
 *     for each: name, there or not, errno, detail, cure
 *
 * Each layer is tried for real in a process of its own (warded-slot --probe NAME):
 * names, ids and mounts are made and checked, limits are written and read back. Nothing
 * is left behind. WD_LAYER_CANARY is not tried here: warded-execd does at its start.
 *
 * Threads: any, but it forks and waits: not from a process that runs NNG.
 * Owns:    nothing. */
#ifndef WD_EXECUTOR_PROBE_H
#define WD_EXECUTOR_PROBE_H

#include "proto/c/status.h"
#include "server/config.h"
#include "server/executor/layer.h"

typedef struct wd_layer_state {
    wd_layer_id id;
    const char *name; /* static */
    bool mandatory;   /* false: reported, not required */
    bool active;      /* tried and there */
    int error;        /* errno of what failed; 0: none, or not an errno */
    char detail[200]; /* what was seen: "ABI 7", "mount /proc: ..." */
    const char *cure; /* static; to be shown where !active */
} wd_layer_state;

/* Try every layer; fills all WD_LAYER_COUNT entries, in the order of the table. Takes
 * about 50 ms. Never fails: what could not be tried is not active, and says why. */
void wd_probe_layers(const wd_config *config, wd_layer_state layers[WD_LAYER_COUNT]);

/* What a layer that could not be tried waits for; NULL: it was tried. */
const char *wd_probe_untried(const wd_layer_state *layer);

/* The first mandatory layer that was tried and is not there; failing that one that could
 * not be tried (its detail says why). NULL: none. WD_LAYER_CANARY apart. */
const wd_layer_state *wd_probe_missing(const wd_layer_state layers[WD_LAYER_COUNT]);

#endif
