#include "server/check.h"

static void print(const wd_check *check, const char *verdict, const char *name,
                  const char *text)
{
    (void)fprintf(check->out, "%-5s %-26s ", verdict, name);
    for (; *text != '\0'; text++)
        (void)fputc(*text == '\n' ? ' ' : *text, check->out);
    (void)fputc('\n', check->out);
}

void wd_check_good(wd_check *check, const char *name, const char *text)
{
    print(check, "ok", name, text);
}

void wd_check_warn(wd_check *check, const char *name, const char *text)
{
    check->warned++;
    print(check, "warn", name, text);
}

void wd_check_bad(wd_check *check, const char *name, const char *text)
{
    check->bad++;
    print(check, "FAIL", name, text);
}

void wd_check_untried(wd_check *check, const char *name, const char *why)
{
    char text[WD_CHECK_TEXT_BYTES];
    (void)snprintf(text, sizeof(text), "not tried: %s", why);
    print(check, "-", name, text);
}

unsigned wd_check_sum(const wd_check *check)
{
    if (check->bad == 0 && check->running > 0)
        (void)fprintf(
            check->out,
            "\n'warded serve' runs here, as process %d, and would start again "
            "after it; %u to look at.\n",
            (int)check->running, check->warned);
    else if (check->bad == 0)
        (void)fprintf(check->out, "\n'warded serve' would start; %u to look at.\n",
                      check->warned);
    else
        (void)fprintf(check->out, "\n'warded serve' would refuse: %u to mend.\n",
                      check->bad);
    return check->bad;
}
