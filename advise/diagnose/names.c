/* The words for kinds, formats, verdicts, confidence. */
#include <string.h>

#include "advise/diagnose/diagnose_internal.h"

static const char *const format_names[DIAG_FORMATS] = {
    "verl console",       "step lines",       "records",
    "Megatron-LM timers", "DeepSpeed timers", "DeepSpeed micro-steps",
    "PyTorch trace",      "sums of kernels",  "progress bar",
    "NeMo-RL console",    "AReaL tables",     "exported tables",
    "torchtitan console",
};

static const char *const kind_names[DIAG_KIND_COUNT] = {
    "compute", "communication", "data", "offload", "save", "idle", "waiting", "other", "metric",
};

static const char *const confidence_names[] = {"measured", "likely", "possible"};

static const char *const verdict_names[] = {"unknown", "communication", "not communication"};

const char *diag_kind_name(enum diag_kind k)
{
    return kind_names[k];
}

const char *diag_confidence_name(enum diag_confidence c)
{
    return confidence_names[c];
}

const char *diag_format_name(enum diag_format f)
{
    return format_names[f];
}

const char *diag_verdict_name(enum diag_verdict v)
{
    return verdict_names[v];
}

int diag_is_one_of(const char *list, const char *word, size_t len)
{
    for (size_t n; *list; list += n + (list[n] == '|')) {
        n = strcspn(list, "|");
        if (n == len && !strncmp(list, word, n))
            return 1;
    }
    return 0;
}
