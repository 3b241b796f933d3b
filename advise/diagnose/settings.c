/* Settings that logs print and that explain slow steps: verl's and DeepSpeed's configuration, NCCL's environment. */
#include <string.h>
#include <strings.h>

#include "advise/diagnose/diagnose_internal.h"
#include "advise/diagnose/rules.h"
#include "core/vars/catalogue.h"
#include "lint/lint.h"

/* ---- notes ------------------------------------------------------------------------------------------------------- */

/* Lines that say a cause in so many words. */

#define MIG_TEXT   "GPUs are cut into MIG instances: neither peer access nor NVLink between them"
#define MIG_ADVICE "switch MIG off for jobs of several GPUs: NCCL goes through host memory between instances"

static const struct {
    const char *id, *mark;
    double weight;
    const char *text, *advice;
} notes[] = {
    {"custom-all-reduce-off", "Custom allreduce is disabled because", 0.1,
     "vLLM's own all-reduce is off: every layer's all-reduce of the rollout goes through NCCL",
     "without NVLink keep the rollout's tensor parallelism at two, or tune small all-reduces (nccltune workload "
     "--no-custom-all-reduce)"},
    {"preempted", " is preempted by ", 0.2, "the inference engine preempts requests: their tokens are computed twice",
     "lower max_num_seqs or give the cache more memory"},
    {"cache-flushes", "pytorch allocator cache flushes since last step", 0.15,
     "the allocator's cache is flushed within steps: memory is nearly full, and each flush waits for the GPU",
     "smaller micro-batches, or PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"},
    {"mig", "| MIG devices:", 0.3, MIG_TEXT, MIG_ADVICE},
    {"mig", "(UUID: MIG-", 0.3, MIG_TEXT, MIG_ADVICE},
    {"flash-attention-off", "flash_attn is not installed", 0.1, "attention runs without FlashAttention",
     "install flash-attn, or use sdpa"},
};

static int is_told(const struct diagnosis *d, const char *name)
{
    for (int i = 0; i < d->nsettings; i++)
        if (!strcmp(d->settings[i].finding.id, name))
            return 1;
    return 0;
}

/* Keep a setting or message that costs time, the first of its id, with the place of the line being read. */
static void keep_setting(struct diagnosis *d, const struct diag_finding *f, int if_hung)
{
    if (is_told(d, f->id) || d->nsettings == DIAG_SETTINGS)
        return;
    d->settings[d->nsettings] = (struct diag_setting){*f, if_hung};
    diag_here(d, d->settings[d->nsettings++].finding.place);
}

int diag_read_notes(struct diagnosis *d, const char *line)
{
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        if (strstr(line, notes[i].mark)) {
            struct diag_finding f = {notes[i].id, DIAG_LIKELY, notes[i].advice, "", notes[i].weight};
            snprintf(f.text, sizeof f.text, "%s", notes[i].text);
            keep_setting(d, &f, 0);
            return 1;
        }
    return 0;
}

/* ---- variables --------------------------------------------------------------------------------------------------- */

/* NCCL's variables as a job sets them: "export NCCL_IB_HCA=mlx5_0", "NCCL_IB_HCA set by environment to mlx5_0". */

static struct diag_variable *variable(struct diagnosis *d, const char *name, size_t len)
{
    for (int i = 0; i < d->nvariables; i++)
        if (strlen(d->variables[i].name) == len && !strncmp(d->variables[i].name, name, len))
            return &d->variables[i];
    if (d->nvariables == DIAG_VARIABLES || len >= sizeof d->variables->name)
        return NULL;
    struct diag_variable *v = &d->variables[d->nvariables++];
    snprintf(v->name, sizeof v->name, "%.*s", (int)len, name);
    return v;
}

int diag_read_variables(struct diagnosis *d, const char *line)
{
    static const char said[] = " set by environment to ", said_alone[] = " set to ";
    int before = d->nvariables;
    d->by_rank |= strstr(line, "LOCAL_RANK") != NULL || strstr(line, "SLURM_LOCALID") != NULL;
    for (const char *p = line; (p = strstr(p, "NCCL_"));) {
        size_t len = strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
        const char *name = p, *value = NULL;
        int starts = p == line || !strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_#(`", p[-1]); /* `NAME=1`: prose */
        p += len;
        int said_so = !strncmp(p, said, sizeof said - 1);
        if (said_so)
            value = p + sizeof said - 1;
        else if ((said_so = strstr(line, "NCCL INFO") && !strncmp(p, said_alone, sizeof said_alone - 1)))
            value = p + sizeof said_alone - 1;
        else if (*p == '=')
            value = p + 1;
        if (!value || !starts || line[strspn(line, " ")] == '#')
            continue;
        value += *value == '"' || *value == '\'';
        size_t n = strcspn(value, " \"';");
        n -= n && value[n - 1] == '.'; /* of a sentence */
        struct diag_variable *v = *value != '$' ? variable(d, name, len) : NULL;
        if (!v)
            continue;
        /* Ranks of a log should have the same; a script may set a variable several times, but this one not by rank. */
        if ((said_so && !strstr(v->name, "FILE") && !strstr(v->name, "HOSTID")) ||
            (d->by_rank && !strcmp(v->name, "NCCL_IB_HCA")))
            diag_note_fact(d, v->name, strlen(v->name), value, n);
        snprintf(v->value, sizeof v->value, "%.*s", (int)(n < sizeof v->value ? n : sizeof v->value - 1), value);
        diag_here(d, v->place);
        v->run = d->nruns && !strcmp(d->runs[d->nruns - 1].path, d->in->path) ? d->nruns - 1 : -1;
        v->of_command = import_named(line) >= 0;
    }
    return d->nvariables > before;
}

/* ---- what lint makes of them ------------------------------------------------------------------------------------- */

void diag_add_lint(struct judge *j)
{
    struct diagnosis *d = j->d;
    struct lint_options o = {.rccl = -1, .topology = d->expected.topology};
    struct finding f;
    /* "2.21.5+cuda12.4" */
    env_version_parse(arena_strndup(d->arena, d->nccl.version, strcspn(d->nccl.version, "+-")), &o.nccl_low,
                      &o.nccl_high);
    struct lint *l = d->nvariables ? lint_new(&o) : NULL;
    for (int i = 0; i < d->nvariables; i++)
        lint_add(l, d->variables[i].name, d->variables[i].value);
    if (l)
        lint_check(l);
    for (size_t n = 0; l && lint_finding(l, n, &f); n++) {
        struct diag_finding found = {arena_strdup(d->arena, f.id), DIAG_MEASURED,
                                     arena_strdup(d->arena, f.advice ? f.advice : ""), "nccltune lint FILE"};
        if (f.severity < FINDING_WARNING || is_told(d, f.subject)) /* by its own word */
            continue;
        const struct diag_variable *v = diag_find_variable(d, f.subject);
        diag_hit(&found, f.severity == FINDING_ERROR ? 0.35 : 0.12, v ? v->place : "", "%s=%s: %s", f.subject,
                 f.value ? f.value : "?", f.text);
        diag_add_finding(j->r, &found);
    }
    lint_free(l);
}

/* ---- settings ---------------------------------------------------------------------------------------------------- */

#define PARAMETERS "parameters are offloaded to host memory: they cross PCIe twice a step"
#define OPTIMIZER  "the optimizer is offloaded to host memory: its state crosses PCIe twice a step"
#define FITS       "switch it off if they fit, or lower the rollout's memory fraction first"
#define SLEEP      "the inference engine gives its memory back while training: its weights move every step"

/* A setting that costs time when its value is one of `words` ("cpu|nvme"), or a number below `below`. */
static const struct {
    const char *key, *words;
    double below, weight;
    const char *text, *advice;
    int if_hung; /* it costs nothing, but jobs are known to stall with it */
} settings[] = {
    {"use_dynamic_bsz", "false", 0, 0.15,
     "dynamic batch size is off: micro-batches are padded to a fixed number of sequences",
     "try use_dynamic_bsz=True with ppo_max_token_len_per_gpu in a short run first, on a release of verl with pull "
     "request 5591: without it FSDP ranks of unequal numbers of micro-batches wait for each other forever"},
    {"use_dynamic_bsz", "true", 0, 0.3,
     "FSDP jobs have stalled with use_dynamic_bsz=True: ranks had unequal numbers of micro-batches (verl issue 6178)",
     "update verl (pull request 5591), or start once with use_dynamic_bsz=False", 1},
    {"use_remove_padding", "false", 0, 0.15, "padding is computed like text",
     "try use_remove_padding=True in a short run first: with it jobs have stalled at their first step (verl issue "
     "387); leave it off if a job stalls"},
    /* Said of jobs that stand still alone. */
    {"use_remove_padding", "true", 0, 0.3, "jobs have stalled at their first step with use_remove_padding=True",
     "start once with use_remove_padding=False; if that runs, rebuild flash-attn for this PyTorch", 1},
    {"param_offload", "true", 0, 0.10, PARAMETERS, FITS},
    {"offload_model", "true", 0, 0.10, PARAMETERS " and back for the rollout", FITS},
    {"optimizer_offload", "true", 0, 0.10, OPTIMIZER, FITS},
    {"offload_optimizer", "cpu|nvme|true", 0, 0.10, OPTIMIZER, "take offload_optimizer out if the state fits"},
    {"optimizer_cpu_offload", "true", 0, 0.10, OPTIMIZER, FITS},
    {"offload_param", "cpu|nvme|true", 0, 0.10, PARAMETERS, "take offload_param out of the configuration if they fit"},
    {"enable_activation_offload", "true", 0, 0.10, "activations are offloaded to host memory", FITS},
    {"sleep_level", "1|2", 0, 0.02, SLEEP,
     "sleep_level 0 if both fit; 1 keeps the weights in host memory, 2 drops them"},
    {"move_model_batches", "", 1e9, 0, "weights go to the inference engine in several batches",
     "fewer batches if the memory allows: each gathers parameters of its own"},
    {"num_workers", "", 1, 0.05, "data is loaded in the training process itself", "set num_workers to 2 or more"},
    {"dataloader_num_workers", "", 1, 0.05, "data is loaded in the training process itself",
     "set dataloader_num_workers to 2 or more"},
    {"gpu_memory_utilization", "", 0.5, 0.10,
     "the inference engine may use less than half of the GPU's memory, so few sequences run at once",
     "raise gpu_memory_utilization (0.6 to 0.8) until memory is used"},
    {"vllm_gpu_memory_utilization", "", 0.5, 0.10,
     "the inference engine may use less than half of the GPU's memory, so few sequences run at once",
     "raise vllm_gpu_memory_utilization until memory is used; colocated training leaves less"},
    {"enforce_eager", "true", 0, 0.05, "the inference engine runs without CUDA graphs",
     "try enforce_eager=False in a short run first: engines over several nodes have stalled while they captured graphs "
     "(vLLM issue 17167)"},
    {"overlap_comm", "false", 0, 0.05, "DeepSpeed does not overlap gradient reduction with backward",
     "try overlap_comm true, and compare the loss: a race is reported (DeepSpeed issue 5545)"},
    {"packing", "true", 0, 0.2, "Swift jobs have stalled with packing and streaming under ZeRO-3 (ms-swift issue 9649)",
     "start once with packing or streaming off", 1},
    {"NCCL_P2P_DISABLE", "1", 0, 0.20, "NCCL_P2P_DISABLE=1 disables NVLink and PCIe peer access in NCCL",
     "unset it, and run nccltune lint on the environment; a job that hangs without it has PCIe ACS or the IOMMU on: "
     "sudo lspci -vvv | grep ACSCtl, iommu=pt"},
    {"NCCL_IB_DISABLE", "1", 0, 0.20, "NCCL_IB_DISABLE=1 sends everything between nodes through TCP sockets",
     "unset it where there is InfiniBand or RoCE, and run nccltune lint on the environment"},
    {"NCCL_SHM_DISABLE", "1", 0, 0.10, "NCCL_SHM_DISABLE=1 disables shared memory in NCCL",
     "unset it, and run nccltune lint on the environment"},
};
#define SETTINGS (sizeof settings / sizeof *settings)

static int is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The value behind `key`: key=value, 'key': value, "key": {"device": "cpu"}. NULL when the key is not there, or
 * stands in prose (`key=value`). */
static const char *value_of(const char *line, const char *key)
{
    const char *at = strstr(line, key);
    size_t n = strlen(key);
    while (at && ((at > line && (is_name(at[-1]) || at[-1] == '`')) || is_name(at[n])))
        at = strstr(at + 1, key);
    if (!at)
        return NULL;
    const char *p = at + n, *device;
    p += strspn(p, "'\"");
    p += strspn(p, " ");
    static const char said[] = "set by environment to "; /* NCCL_DEBUG=INFO */
    if (!strncmp(p, said, sizeof said - 1))
        return p + sizeof said - 1;
    /* An option of a command line may have its value behind a blank. */
    int option = at > line + 1 && at[-1] == '-' && p > at + n && *p && *p != '-' && *p != '=' && *p != ':';
    if (!option && *p != '=' && *p != ':')
        return NULL;
    p += option ? 0 : 1 + strspn(p + 1, " ");
    device = *p == '{' ? strstr(p, "device") : NULL;
    p = device ? device + 6 : p;
    return p + strspn(p, device ? "'\" :" : "'\"");
}

/* Pretty-printed JSON has the device of an offload on a line of its own: the key that waits for it, NULL. */
static const char *value_below(struct diagnosis *d, const char *line, size_t i)
{
    const char *p = line + strspn(line, " \"'");
    if (d->open_setting != (int)i + 1 || strncmp(p, "device", 6) != 0)
        return NULL;
    d->open_setting = 0;
    return p + 6 + strspn(p + 6, "'\" :");
}

static int is_costly(size_t i, const char *value)
{
    double number;
    size_t n;
    for (const char *w = settings[i].words; *w; w += n + (w[n] == '|')) {
        n = strcspn(w, "|");
        if (!strncasecmp(value, w, n) && !is_name(value[n]))
            return 1;
    }
    /* No workers at all is the one zero that means something. */
    return !*settings[i].words && diag_number(value, &number) && number < settings[i].below &&
           (number > 0 || (number == 0 && settings[i].below == 1));
}

/* Settings may stand in any line, whoever else reads it; the first place of each is kept. */
int diag_read_settings(struct diagnosis *d, const char *line)
{
    if (!(strchr(line, '_') || d->open_setting) || !strpbrk(line, "=: ") || line[strspn(line, " ")] == '#')
        return 0;
    int before = d->nsettings;
    for (size_t i = 0; i < SETTINGS; i++) {
        const char *value = value_of(line, settings[i].key);
        if (value && *value == '{')
            d->open_setting = (int)i + 1;
        value = value ? value : value_below(d, line, i);
        if (!value || !is_costly(i, value))
            continue;
        struct diag_finding f = {settings[i].key, DIAG_POSSIBLE, settings[i].advice, "", settings[i].weight};
        size_t n = strcspn(value, " ,'\"}");
        n -= n && value[n - 1] == '.'; /* of a sentence */
        snprintf(f.text, sizeof f.text, "%s (%s: %.*s)", settings[i].text, f.id, n < 32 ? (int)n : 31, value);
        keep_setting(d, &f, settings[i].if_hung);
    }
    return d->nsettings > before;
}
