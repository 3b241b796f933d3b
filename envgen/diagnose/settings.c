/* Settings that logs print and that explain slow steps: verl's and DeepSpeed's configuration, NCCL's environment. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "envgen/diagnose/diagnose_internal.h"

/* A setting that costs time when its value is one of `words`, or a number below `below`. */
static const struct {
    const char *key, *words;
    double below, weight;
    const char *text, *advice;
} settings[] = {
    {"use_dynamic_bsz", "false", 0, 0.15,
     "dynamic batch size is off: micro-batches are padded to a fixed number of "
     "sequences",
     "set use_dynamic_bsz=True with ppo_max_token_len_per_gpu for actor, reference and log-probabilities"},
    {"use_remove_padding", "false", 0, 0.15, "padding is computed on as if it were text",
     "set use_remove_padding=True"},
    {"param_offload", "true", 0, 0.10, "parameters are offloaded to host memory: they cross PCIe twice a step",
     "set param_offload=False if they fit, or lower the rollout's memory fraction first"},
    {"optimizer_offload", "true", 0, 0.10,
     "the optimizer is offloaded to host memory: its state crosses PCIe twice a "
     "step",
     "set optimizer_offload=False if it fits"},
    {"offload_optimizer", "cpu", 0, 0.10, "DeepSpeed keeps the optimizer in host memory",
     "take offload_optimizer out of the configuration if the state fits"},
    {"offload_param", "cpu", 0, 0.10, "DeepSpeed keeps parameters in host memory",
     "take offload_param out of the configuration if they fit"},
    {"gpu_memory_utilization", "", 0.5, 0.10,
     "the inference engine may use less than half of the GPU's memory, so few "
     "sequences run at once",
     "raise gpu_memory_utilization (0.6 to 0.8) until memory is used"},
    {"enforce_eager", "true", 0, 0.05, "the inference engine runs without CUDA graphs", "set enforce_eager=False"},
    {"overlap_comm", "false", 0, 0.05, "DeepSpeed does not overlap gradient reduction with backward",
     "set overlap_comm to true"},
    {"NCCL_P2P_DISABLE", "1", 0, 0.20, "NCCL_P2P_DISABLE=1 keeps NCCL off NVLink and PCIe peer access",
     "unset it, and run nccltune lint on the environment"},
    {"NCCL_IB_DISABLE", "1", 0, 0.20, "NCCL_IB_DISABLE=1 sends everything between nodes through TCP sockets",
     "unset it where there is InfiniBand or RoCE, and run nccltune lint on the environment"},
    {"NCCL_SHM_DISABLE", "1", 0, 0.10, "NCCL_SHM_DISABLE=1 keeps NCCL off shared memory",
     "unset it, and run nccltune lint on the environment"},
};
#define SETTINGS (sizeof settings / sizeof *settings)
_Static_assert(SETTINGS <= DIAG_SETTINGS, "every setting has a place");

static int is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The value behind `key`: key=value, 'key': value, "key": {"device": "cpu"}. NULL when the key is not there. */
static const char *value_of(const char *line, const char *key)
{
    const char *at = strstr(line, key);
    size_t n = strlen(key);
    while (at && ((at > line && is_name(at[-1])) || is_name(at[n])))
        at = strstr(at + 1, key);
    if (!at)
        return NULL;
    const char *p = at + n, *device;
    p += strspn(p, "'\"");
    p += strspn(p, " ");
    if (*p != '=' && *p != ':')
        return NULL;
    p += 1 + strspn(p + 1, " ");
    device = *p == '{' ? strstr(p, "device") : NULL;
    p = device ? device + 6 : p;
    return p + strspn(p, device ? "'\" :" : "'\"");
}

static int is_costly(size_t i, const char *value)
{
    size_t n = strlen(settings[i].words);
    double number;
    if (n)
        return !strncasecmp(value, settings[i].words, n) && !is_name(value[n]);
    return diag_number(value, &number) && number > 0 && number < settings[i].below;
}

static int is_known(const struct diagnosis *d, const char *id)
{
    for (int i = 0; i < d->nsettings; i++)
        if (!strcmp(d->settings[i].id, id))
            return 1;
    return 0;
}

/* Settings may stand in any line, whoever else reads it; the first place of each is kept. */
int diag_read_settings(struct diagnosis *d, const char *line)
{
    if (!strchr(line, '_') || !strpbrk(line, "=:"))
        return 0;
    int before = d->nsettings;
    for (size_t i = 0; i < SETTINGS; i++) {
        const char *value = value_of(line, settings[i].key);
        if (!value || !is_costly(i, value) || is_known(d, settings[i].key))
            continue;
        struct diag_setting *s = &d->settings[d->nsettings++];
        *s = (struct diag_setting){settings[i].key, settings[i].text, settings[i].advice, settings[i].weight, "", ""};
        snprintf(s->value, sizeof s->value, "%.*s", (int)strcspn(value, " ,'\"}"), value);
        diag_here(d, s->place);
    }
    return d->nsettings > before;
}
