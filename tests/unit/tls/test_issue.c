#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "odd_certs.h"
#include "proto/tls/credentials.h"
#include "proto/tls/pem_file.h"

/* A temporary folder with room for paths in it. */
typedef struct folder {
    char dir[64];
    char path[4][128];
} folder;

static int make_folder(void **state)
{
    folder *f = calloc(1, sizeof *f);

    (void)snprintf(f->dir, sizeof f->dir, "/tmp/wd-issue-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    *state = f;
    return 0;
}

static int drop_folder(void **state)
{
    folder *f = *state;

    static const char *const files[] = {WD_CA_CERT_FILE, WD_CA_KEY_FILE, "key.pem",
                                        "cert.pem", "secret"};
    char path[128];

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", f->dir, files[i]);
        (void)unlink(path);
    }
    assert_int_equal(rmdir(f->dir), 0);
    free(f);
    return 0;
}

static const char *at(folder *f, int slot, const char *name)
{
    (void)snprintf(f->path[slot], sizeof f->path[slot], "%s/%s", f->dir, name);
    return f->path[slot];
}

static unsigned mode_of(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 07777;
}

static wd_leaf_spec client_spec(void)
{
    return (wd_leaf_spec){.uri = TEST_CLIENT,
                          .not_before_ms = test_now_ms() - 1000,
                          .not_after_ms = test_now_ms() + TEST_DAY_MS};
}

static void a_ca_is_written_once_and_read_again(void **state)
{
    folder *f = *state;
    WD_AUTO(wd_ca) *ca = NULL;
    wd_error err;

    OK(wd_ca_create(f->dir, "Warded CA", 365 * TEST_DAY_MS, &err), err);
    assert_int_equal(mode_of(at(f, 0, WD_CA_KEY_FILE)), 0600);
    assert_int_equal(mode_of(at(f, 1, WD_CA_CERT_FILE)), 0644);
    REFUSED(wd_ca_create(f->dir, "Warded CA", TEST_DAY_MS, &err),
            WD_FAILED_PRECONDITION);
    OK(wd_ca_load(f->dir, &ca, &err), err);
    assert_non_null(strstr(wd_ca_pem(ca), "BEGIN CERTIFICATE"));
}

static void a_ca_key_that_others_read_is_refused(void **state)
{
    folder *f = *state;
    WD_AUTO(wd_ca) *ca = NULL;
    wd_error err;

    OK(wd_ca_create(f->dir, "Warded CA", TEST_DAY_MS, &err), err);
    assert_int_equal(chmod(at(f, 0, WD_CA_KEY_FILE), 0604), 0);
    REFUSED(wd_ca_load(f->dir, &ca, &err), WD_PERMISSION_DENIED);
    assert_non_null(strstr(err.msg, "chmod"));
}

static wd_status issue_files(const wd_ca *ca, const wd_leaf_spec *spec, const char *key,
                             const char *cert, wd_error *err)
{
    wd_pem_pair pair = {NULL, NULL};
    wd_status status = wd_ca_issue(ca, spec, &pair, err);

    if (status == WD_OK)
        status = wd_pem_file_write(key, true, pair.key, err);
    if (status == WD_OK)
        status = wd_pem_file_write(cert, false, pair.cert, err);
    wd_pem_pair_done(&pair);
    return status;
}

static void a_leaf_goes_into_two_files(void **state)
{
    folder *f = *state;
    WD_AUTO(wd_ca) *ca = test_ca("Test CA");
    WD_AUTO(wd_tls_credentials) *credentials = NULL;
    wd_leaf_spec spec = client_spec();
    const char *key = at(f, 0, "key.pem"), *cert = at(f, 1, "cert.pem");
    wd_tls_files files = {.ca = at(f, 2, "ca.pem"), .cert = cert, .key = key};
    wd_error err;

    OK(issue_files(ca, &spec, key, cert, &err), err);
    assert_int_equal(mode_of(key), 0600);
    assert_int_equal(mode_of(cert), 0644);
    REFUSED(wd_tls_credentials_load(&files, &credentials, &err), WD_NOT_FOUND);
    assert_non_null(strstr(err.msg, "warded init"));
    OK(wd_pem_file_write(files.ca, false, wd_ca_pem(ca), &err), err);
    OK(wd_tls_credentials_load(&files, &credentials, &err), err);
    OK(wd_tls_credentials_check(credentials, false, &err), err);
    assert_string_equal(wd_tls_credentials_identity(credentials)->uri, TEST_CLIENT);
    REFUSED(wd_tls_credentials_check(credentials, true, &err), WD_FAILED_PRECONDITION);
}

static void a_ca_without_room_leaves_no_key(void **state)
{
    folder *f = *state;
    WD_AUTO(wd_ca) *ca = test_ca("Test CA");
    wd_error err;

    assert_int_equal(mkdir(at(f, 0, WD_CA_CERT_FILE), 0700), 0);
    REFUSED(wd_ca_save(ca, f->dir, &err), WD_FAILED_PRECONDITION);
    assert_int_equal(access(at(f, 1, WD_CA_KEY_FILE), F_OK), -1);
    assert_int_equal(rmdir(at(f, 0, WD_CA_CERT_FILE)), 0);
}

static void claim_04_a_key_readable_by_others_is_refused(void **state)
{
    static const struct {
        mode_t mode;
        uid_t owner;
        bool refused;
    } cases[] = {
        {0600, 0, false}, {0400, 0, false}, {0440, 0, false}, {0640, 0, false},
        {0644, 0, true},  {0604, 0, true},  {0660, 0, true},  {0601, 0, true},
        {0640, 1, true},  {0600, 1, false},
    };
    folder *f = *state;
    const char *path = at(f, 0, "secret");
    wd_error err;

    OK(wd_pem_file_write(path, true, "x", &err), err);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (chown(path, cases[i].owner, 0) != 0)
            continue; /* not root: the rows of this user's own remain */
        assert_int_equal(chmod(path, cases[i].mode), 0);
        if ((wd_secret_file_check(path, &err) != WD_OK) != cases[i].refused)
            fail_msg("mode %o, owner %u", cases[i].mode, cases[i].owner);
    }
}

static void claim_04_missing_credentials_are_named(void **state)
{
    folder *f = *state;
    wd_tls_files files = {.ca = at(f, 0, "ca.pem"),
                          .cert = at(f, 1, "cert.pem"),
                          .key = at(f, 2, "key.pem")};
    wd_tls_credentials *credentials = NULL;
    wd_error err;

    REFUSED(wd_tls_credentials_load(&files, &credentials, &err), WD_NOT_FOUND);
    assert_non_null(strstr(err.msg, files.ca));
    assert_non_null(strstr(err.msg, "warded init"));
}

static void overwrite(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* The i-th of a client's three files is overwritten: what is said names it. */
static void spoil_and_load(folder *f, const wd_ca *ca, size_t i)
{
    const char *const path[] = {at(f, 0, "ca.pem"), at(f, 1, "cert.pem"),
                                at(f, 2, "key.pem")};
    const wd_tls_files files = {.ca = path[0], .cert = path[1], .key = path[2]};
    wd_tls_credentials *credentials = NULL;
    wd_leaf_spec spec = client_spec();
    wd_error err;

    OK(issue_files(ca, &spec, path[2], path[1], &err), err);
    OK(wd_pem_file_write(path[0], false, wd_ca_pem(ca), &err), err);
    overwrite(path[i], "not a PEM\n");
    REFUSED(wd_tls_credentials_load(&files, &credentials, &err), WD_INVALID_ARGUMENT);
    assert_non_null(strstr(err.msg, path[i]));
    for (size_t k = 0; k < 3; k++)
        assert_int_equal(unlink(path[k]), 0);
}

static void what_is_no_pem_is_named(void **state)
{
    WD_AUTO(wd_ca) *ca = test_ca("Test CA");

    for (size_t i = 0; i < 3; i++)
        spoil_and_load(*state, ca, i);
}

static void assert_refused(const char *path, wd_status status, const char *told)
{
    char *text = NULL;
    wd_error err;

    REFUSED(wd_pem_file_read(path, &text, &err), status);
    if (strstr(err.msg, told) == NULL || strstr(err.msg, path) == NULL)
        fail_msg("%s", err.msg);
}

static void what_is_no_small_file_is_told_as_what_it_is(void **state)
{
    folder *f = *state;
    const char *path = at(f, 0, "secret");
    WD_AUTO(wd_secret_text) *text = NULL;
    wd_error err;

    assert_int_equal(mkfifo(path, 0600), 0);
    assert_refused(path, WD_INVALID_ARGUMENT, "is a pipe; put a regular file there");
    assert_int_equal(unlink(path), 0);
    assert_refused(f->dir, WD_INVALID_ARGUMENT,
                   "is a folder; put a regular file there");
    assert_refused("/dev/zero", WD_INVALID_ARGUMENT, "is a device; put a regular file");
    OK(wd_pem_file_write(path, false, "x", &err), err);
    assert_int_equal(truncate(path, 1 << 20), 0);
    assert_refused(path, WD_INVALID_ARGUMENT, "has 1048576 bytes, where less than");
    assert_int_equal(truncate(path, (1 << 20) - 1), 0);
    assert_refused(path, WD_INVALID_ARGUMENT, "is no text");
    assert_int_equal(truncate(path, 1), 0);
    OK(wd_pem_file_read(path, &text, &err), err);
}

static void a_ca_that_is_no_pem_is_named(void **state)
{
    folder *f = *state;
    wd_ca *ca = NULL;
    wd_error err;

    OK(wd_ca_create(f->dir, "Warded CA", TEST_DAY_MS, &err), err);
    overwrite(at(f, 0, WD_CA_CERT_FILE), "not a PEM\n");
    REFUSED(wd_ca_load(f->dir, &ca, &err), WD_INVALID_ARGUMENT);
    assert_non_null(strstr(err.msg, at(f, 0, WD_CA_CERT_FILE)));
}

static void a_key_of_another_certificate_is_refused(void **state)
{
    WD_AUTO(wd_ca) *ca = test_ca("Test CA");
    wd_pem_pair one, two;
    wd_tls_credentials *credentials = NULL;
    wd_tls_pem pem;
    wd_error err;

    (void)state;
    good_issue(ca, TEST_CLIENT, &one);
    good_issue(ca, TEST_CLIENT, &two);
    pem = (wd_tls_pem){.ca = wd_ca_pem(ca), .cert = one.cert, .key = two.key};
    REFUSED(wd_tls_credentials_make(&pem, &credentials, &err), WD_INVALID_ARGUMENT);
    pem = (wd_tls_pem){.ca = "x", .cert = one.cert, .key = one.key};
    REFUSED(wd_tls_credentials_make(&pem, &credentials, &err), WD_INVALID_ARGUMENT);
    pem = (wd_tls_pem){.ca = wd_ca_pem(ca), .cert = one.cert, .key = "x"};
    REFUSED(wd_tls_credentials_make(&pem, &credentials, &err), WD_INVALID_ARGUMENT);
    wd_pem_pair_done(&one);
    wd_pem_pair_done(&two);
}

static void specs_that_make_no_sense_are_refused(void **state)
{
    static const char *const bad_dns[] = {"UPPER.example"};
    static const char *const bad_ip[] = {"300.1.1.1"};
    static const char *const good_dns[] = {"localhost"};
    WD_AUTO(wd_ca) *ca = test_ca("Test CA");
    wd_leaf_spec good = client_spec();
    wd_leaf_spec bad[8];
    wd_error err;
    wd_pem_pair pair;

    (void)state;
    for (size_t i = 0; i < 8; i++)
        bad[i] = good;
    bad[0].uri = "spiffe://nobody";
    bad[1].not_after_ms = bad[1].not_before_ms;
    bad[2].dns = good_dns, bad[2].n_dns = 1; /* a client's */
    bad[3].uri = TEST_GATE, bad[3].dns = bad_dns, bad[3].n_dns = 1;
    bad[4].uri = TEST_GATE, bad[4].ips = bad_ip, bad[4].n_ips = 1;
    bad[5].fact[WD_FACT_POOL] = "";
    bad[6].fact[WD_FACT_POOL] = "a\nb";
    bad[7].uri = TEST_GATE, bad[7].dns = good_dns, bad[7].n_dns = 1000;
    for (size_t i = 0; i < 8; i++)
        if (wd_ca_issue(ca, &bad[i], &pair, &err) != WD_INVALID_ARGUMENT)
            fail_msg("spec %zu", i);
}

static void names_of_cas_need_no_quoting(void **state)
{
    static const char *const bad[] = {"", "a,CN=b", " a", "a ", "a\nb", "\xc3\xa4"};
    wd_ca *ca = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        REFUSED(wd_ca_new(bad[i], 1, 2, &ca, NULL), WD_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define IN_FOLDER(f) cmocka_unit_test_setup_teardown(f, make_folder, drop_folder)
        IN_FOLDER(a_ca_is_written_once_and_read_again),
        IN_FOLDER(a_ca_key_that_others_read_is_refused),
        IN_FOLDER(a_leaf_goes_into_two_files),
        IN_FOLDER(a_ca_without_room_leaves_no_key),
        IN_FOLDER(claim_04_a_key_readable_by_others_is_refused),
        IN_FOLDER(claim_04_missing_credentials_are_named),
        IN_FOLDER(what_is_no_pem_is_named),
        IN_FOLDER(what_is_no_small_file_is_told_as_what_it_is),
        IN_FOLDER(a_ca_that_is_no_pem_is_named),
        cmocka_unit_test(a_key_of_another_certificate_is_refused),
        cmocka_unit_test(specs_that_make_no_sense_are_refused),
        cmocka_unit_test(names_of_cas_need_no_quoting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
