#include "store/tokctl/leaked.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/c/cleanup.h"
#include "proto/c/sha256.h"
#include "store/tokctl/find.h"

#define PIECE_BYTES (64U << 10)

void wd_leaked_done(wd_leaked *leaked)
{
    for (size_t i = 0; i < leaked->n; i++) {
        wd_wipe(leaked->texts[i], strlen(leaked->texts[i]));
        free(leaked->texts[i]);
    }
    free(leaked->texts);
    *leaked = (wd_leaked){0};
}

bool wd_leaked_add(wd_leaked *leaked, const wd_token_text *token)
{
    for (size_t i = 0; i < leaked->n; i++)
        if (strcmp(leaked->texts[i], token->chars) == 0)
            return true;
    if (leaked->n == WD_LEAKED_COUNT)
        return false;
    if (leaked->texts == NULL)
        leaked->texts = calloc(WD_LEAKED_COUNT, sizeof(*leaked->texts));
    char *copy = leaked->texts != NULL ? strdup(token->chars) : NULL;
    if (copy == NULL)
        return false;
    leaked->texts[leaked->n++] = copy;
    return true;
}

static bool found(void *arg, const wd_token_text *token, size_t line)
{
    (void)line;
    return wd_leaked_add(arg, token);
}

wd_status wd_leaked_read(wd_leaked *leaked, const char *path, wd_error *err)
{
    const bool from_stdin = strcmp(path, "-") == 0;
    WD_AUTO_FD int fd =
        from_stdin ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    wd_finder finder = {.arg = leaked, .found = found};
    uint8_t piece[PIECE_BYTES];
    bool more = true;
    ssize_t size = 0;
    if (fd < 0)
        return wd_fail(err, WD_NOT_FOUND, "%s: %s", path, strerrordesc_np(errno));
    while (more && (size = read(fd, piece, sizeof(piece))) > 0)
        more = wd_finder_feed(&finder, (wd_span){piece, (size_t)size});
    more = wd_finder_end(&finder) && more;
    wd_wipe(piece, sizeof(piece));
    if (size < 0)
        return wd_fail(err, WD_NOT_FOUND, "%s: %s", path, strerrordesc_np(errno));
    if (!more)
        return wd_fail(err, WD_RESOURCE_EXHAUSTED,
                       "%s holds more than %u tokens: split it", path, WD_LEAKED_COUNT);
    return WD_OK;
}
