/* Every reader, rule, printer and correction of lint on arbitrary bytes: the first byte chooses the kind of document.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "lint/lint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static FILE *null;
    struct lint_options o = {.rccl = -1};
    struct lint_fixed fixed;
    size_t kinds = 0;
    if (!null)
        null = fopen("/dev/null", "w");
    if (bytes < 1 || !null)
        return 0;
    while (lint_kind(kinds))
        kinds++;
    struct lint *l = lint_new(&o);
    size_t choice = data[0] % (kinds + 1); /* one more: by its content */
    lint_read_text(l, "fuzz", (const char *)data + 1, bytes - 1, lint_kind(choice), NULL);
    lint_check(l);
    lint_print(l, 0, null);
    lint_print(l, 1, null);
    lint_fix(l, 0, 1, &fixed, NULL);
    free(fixed.text);
    lint_free(l);
    return 0;
}
