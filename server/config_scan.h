/* config_scan.h - what a file of settings may not have, whatever its keys.
 *
 * libcyaml passes over tags and anchors, ends texts at a NUL, tells no line of what is no
 * YAML, and has no word for a key that is a list. So the file's events are looked at
 * first: by the same libyaml that it then reads them with.
 *
 * Threads: any.  Owns: nothing.  Source: yaml.h of libyaml 0.2. */
#ifndef WD_SERVER_CONFIG_SCAN_H
#define WD_SERVER_CONFIG_SCAN_H

#include "proto/c/status.h"

#include <stddef.h>

#define WD_CONFIG_VALUE_BYTES 4096 /* of one text: the longest path */

/* One document of mappings, lists and plain texts, in UTF-8; or nothing but comments.
 * Errors: INVALID_ARGUMENT "LINE: KEY: why" (no file name; KEY is "file" at the top)
 *         RESOURCE_EXHAUSTED no memory */
WD_MUST_USE wd_status wd_config_scan(const char *text, size_t size, wd_error *err);

#endif
