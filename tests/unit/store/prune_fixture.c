#include "tests/unit/store/prune_fixture.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "store/tokens.h"

void wd_prune_fill(wd_fixture *f)
{
    static const char *const scopes[] = {"observe:x"};
    const wd_token_spec spec = {.name = "t",
                                .scopes = scopes,
                                .n_scopes = 1,
                                .ttl_ms = 20 * WD_PRUNE_DAY_MS,
                                .bind = "uri:spiffe://d/ns/n/owner/o/client/c"};
    WD_AUTO_ISSUED issued = {0};
    assert_int_equal(wd_tokens_issue_now(f->store, &spec, "local:0", &issued, NULL),
                     WD_OK);
    wd_fixture_fill(f, 10);
    wd_segments_seal(f);
    wd_fixture_fill(f, 10);
    wd_segments_seal(f);
    wd_fixture_fill(f, 10);
    wd_segments_seal(f);
    atomic_fetch_add(&f->clock.now_ms, 2 * WD_PRUNE_DAY_MS);
}

const char *wd_prune_exports(wd_fixture *f)
{
    static char path[96];
    (void)snprintf(path, sizeof(path), "%s/exports", f->top);
    return path;
}

wd_pruner *wd_prune_open(wd_fixture *f, uint64_t bytes)
{
    const wd_pruner_options options = {.store = f->store,
                                       .exports = wd_prune_exports(f),
                                       .age_ms = bytes == 0 ? WD_PRUNE_DAY_MS : 0,
                                       .bytes = bytes,
                                       .principal = "spiffe://d/gate/g"};
    wd_pruner *pruner = NULL;
    wd_error err = {0};
    if (wd_pruner_open(&options, &pruner, &err) != WD_OK)
        fail_msg("wd_pruner_open: %s", err.msg);
    return pruner;
}

void wd_prune_pass(wd_fixture *f)
{
    WD_AUTO(wd_pruner) *pruner = wd_prune_open(f, 0);
    char problem[64] = "none";
    wd_error err = {0};
    if (wd_pruner_pass(pruner, &err) != WD_OK)
        fail_msg("prune: %s", err.msg);
    wd_pruner_problem(pruner, problem, sizeof(problem));
    assert_string_equal(problem, "");
}

wd_status wd_prune_verify(wd_fixture *f, wd_audit_report *ret_report, wd_error *err)
{
    WD_AUTO(wd_reader) *reader = wd_segments_reader(f);
    const wd_audit_range all = {.exports = wd_prune_exports(f), .threads = 1};
    return wd_audit_verify(reader, &all, ret_report, err);
}

void wd_prune_sound(wd_fixture *f, size_t tombstones)
{
    wd_audit_report report;
    wd_error err = {0};
    if (wd_prune_verify(f, &report, &err) != WD_OK)
        fail_msg("verify: %s", err.msg);
    assert_int_equal(report.n_tombstones, tombstones);
    assert_int_equal(report.n_tokens, 1);
}

void wd_prune_broken(wd_fixture *f, wd_audit_fault fault, uint64_t seq,
                     const char *words)
{
    wd_audit_report report;
    wd_error err = {0};
    assert_int_equal(wd_prune_verify(f, &report, &err), WD_DATA_LOSS);
    if (report.fault != fault || report.bad_seq != seq ||
        strstr(err.msg, words) == NULL)
        fail_msg("%s at %llu, not %s at %llu with \"%s\": %s",
                 wd_audit_fault_name(report.fault), (unsigned long long)report.bad_seq,
                 wd_audit_fault_name(fault), (unsigned long long)seq, words, err.msg);
}

void wd_prune_shell(wd_fixture *f, const char *folder, const char *command)
{
    char whole[512];
    (void)snprintf(whole, sizeof(whole), "cd '%s/%s' && { %s; }", f->top, folder,
                   command);
    if (wd_fixture_shell(whole) != 0)
        fail_msg("%s", whole);
}

/* --- each row is somewhere ----------------------------------------------------------- */

#define ROWS 31

static bool see(void *arg, const wd_audit_row *row)
{
    bool *seen = arg;
    if (row->seq <= ROWS)
        seen[row->seq] = true;
    return true;
}

/* Marks the rows of an export, each line of which must be whole. */
static void read_export(const char *path, bool seen[ROWS + 1], const char *what)
{
    char line[4096];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        unsigned long long seq = 0;
        size_t size = strlen(line);
        if (sscanf(line, "{\"seq\":%llu,", &seq) != 1 || seq == 0 || seq > ROWS ||
            size < 3 || strcmp(line + size - 2, "}\n") != 0)
            fail_msg("%s: %s: \"%s\" is no row", what, path, line);
        seen[seq] = true;
    }
    (void)fclose(file);
}

static void read_exports(wd_fixture *f, bool seen[ROWS + 1], const char *what)
{
    char path[512];
    DIR *dir = opendir(wd_prune_exports(f));
    if (dir == NULL)
        return;
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        const char *dot = strrchr(e->d_name, '.');
        (void)snprintf(path, sizeof(path), "%s/%s", wd_prune_exports(f), e->d_name);
        if (e->d_name[0] != '.' && strcmp(dot, ".jsonl") == 0)
            read_export(path, seen, what);
    }
    (void)closedir(dir);
}

void wd_prune_all_rows(wd_fixture *f, const char *what)
{
    bool seen[ROWS + 1] = {false};
    WD_AUTO(wd_reader) *reader = wd_segments_reader(f);
    const wd_audit_filter all = {.limit = WD_AUDIT_QUERY_ROWS};
    const wd_audit_sink sink = {see, seen};
    uint64_t next = 0;
    assert_int_equal(wd_audit_query(reader, &all, &sink, &next, NULL), WD_OK);
    read_exports(f, seen, what);
    for (size_t seq = 1; seq <= ROWS; seq++)
        if (!seen[seq])
            fail_msg("%s: row %zu is gone", what, seq);
}
