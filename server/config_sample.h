/* config_sample.h - the file that `warded init` writes: every key, explained.
 *
 * Threads: any.  Owns: nothing. */
#ifndef WD_SERVER_CONFIG_SAMPLE_H
#define WD_SERVER_CONFIG_SAMPLE_H

#include <stdio.h>

/* What a fresh configuration says; the rest stands there as comments with defaults. */
typedef struct wd_sample {
    const char *user;
    const char *listen_url;
} wd_sample;

void wd_config_sample_write(FILE *out, const wd_sample *sample);

#endif
