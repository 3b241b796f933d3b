/* A stream in front of standard output. */
#include "core/terminal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define C1_BEGINS '\xc2' /* the first byte of U+0080 to U+00BF */

static int holds_c1; /* that byte has come last, and is not yet written */

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The length of one of our own colours. */
static size_t own_color(const char *s, size_t n)
{
    if (n >= 4 && !memcmp(s, "\033[0m", 4))
        return 4;
    return n >= 8 && !memcmp(s, "\033[4", 3) && is_digit(s[3]) && s[4] == ';' && s[5] == '3' && is_digit(s[6]) &&
                   s[7] == 'm'
               ? 8
               : 0;
}

/* What may be shown of n bytes, into `clean`, which has room for one more. */
static size_t clean_text(const char *s, size_t n, char *clean)
{
    size_t used = 0, color;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (holds_c1) {
            int control = c >= 0x80 && c < 0xa0;
            holds_c1 = 0;
            clean[used++] = control ? '?' : C1_BEGINS;
            if (control)
                continue;
        }
        if (s[i] == C1_BEGINS) {
            holds_c1 = 1;
        } else if (c == 0x1b && (color = own_color(s + i, n - i))) {
            memcpy(clean + used, s + i, color);
            used += color;
            i += color - 1;
        } else {
            clean[used++] = (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f ? '?' : s[i];
        }
    }
    return used;
}

static ssize_t write_clean(void *unused, const char *s, size_t n)
{
    (void)unused;
    char *clean = malloc(n + 1);
    size_t bytes = clean ? clean_text(s, n, clean) : 0;
    int failed = clean ? 0 : errno;
    for (size_t done = 0; done < bytes && !failed;) {
        ssize_t k = write(STDOUT_FILENO, clean + done, bytes - done);
        if (k >= 0)
            done += (size_t)k;
        else if (errno != EINTR)
            failed = errno;
    }
    free(clean);
    errno = failed;
    return failed ? 0 : (ssize_t)n;
}

void terminal_guard_stdout(void)
{
    FILE *guarded = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_clean});
    if (!guarded)
        return;
    setvbuf(guarded, NULL, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, BUFSIZ * 8);
    stdout = guarded;
}
