/* What the names of timers mean. */
#include <string.h>

#include "advise/diagnose/diagnose_internal.h"

const char diag_total_mark[] = "step";

/* Names that several frameworks and hand-written logs share. verl's are those of its trainer's timers. */
static const struct diag_word common[] = {
    {"gen|generate|generation|rollout|inference|生成|采样|推理", "rollout", DIAG_COMPUTE, DIAG_ROLLOUT},
    {"logprob|log_prob|logprobs|old_log_prob|old_log_probs|log_probs|对数概率", "log-probabilities", DIAG_COMPUTE,
     DIAG_TRAIN},
    {"ref|reference|ref_log_prob|ref_log_probs|参考模型", "reference", DIAG_COMPUTE, DIAG_TRAIN},
    {"values", "critic values", DIAG_COMPUTE, DIAG_TRAIN},
    {"loss", "loss", DIAG_COMPUTE, DIAG_TRAIN},
    {"step_actor|actor|update_actor|update|更新", "actor update", DIAG_COMPUTE, DIAG_TRAIN},
    {"critic", "critic", DIAG_COMPUTE, DIAG_TRAIN},
    {"update_critic", "critic update", DIAG_COMPUTE, DIAG_TRAIN},
    {"train|training|训练", "training", DIAG_COMPUTE, DIAG_TRAIN},
    {"compute|计算", "compute", DIAG_COMPUTE, DIAG_TRAIN},
    {"forward|fwd|前向", "forward", DIAG_COMPUTE, DIAG_TRAIN},
    {"backward|bwd|反向", "backward", DIAG_COMPUTE, DIAG_TRAIN},
    {"optimizer|optim|优化器", "optimizer", DIAG_COMPUTE, DIAG_TRAIN},
    {"reward|奖励", "reward", DIAG_OTHER, DIAG_NEITHER},
    {"adv|advantage", "advantages", DIAG_OTHER, DIAG_NEITHER},
    {"sync|同步", "sync", DIAG_COMMUNICATION, DIAG_NEITHER},
    {"allreduce|all_reduce|grad_allreduce|grad_all_reduce|gradient_allreduce", "all-reduce", DIAG_COMMUNICATION,
     DIAG_NEITHER},
    {"allgather|all_gather", "all-gather", DIAG_COMMUNICATION, DIAG_NEITHER},
    {"reducescatter|reduce_scatter", "reduce-scatter", DIAG_COMMUNICATION, DIAG_NEITHER},
    {"alltoall|all_to_all", "all-to-all", DIAG_COMMUNICATION, DIAG_NEITHER},
    {"comm|communication|通信", "communication", DIAG_COMMUNICATION, DIAG_NEITHER},
    {"grad_sync|gradient_sync|梯度同步", "gradient sync", DIAG_COMMUNICATION, DIAG_TRAIN},
    {"weight_sync|param_sync|sync_rollout_weights|update_weights|model_update|refit|move_model_to_vllm|权重同步|"
     "参数同步",
     "weight sync", DIAG_COMMUNICATION, DIAG_ROLLOUT},
    {"reshard", "weight sync within rollout", DIAG_COMMUNICATION, DIAG_ROLLOUT, "rollout"},
    {"data|dataloader|data_loading|data_loader|data_time|数据|数据加载", "data", DIAG_DATA, DIAG_NEITHER},
    {"offload|onload|卸载", "offload", DIAG_OFFLOAD, DIAG_NEITHER},
    {"testing|eval|val|validation|evaluate|evaluation|验证", "validation", DIAG_SAVE, DIAG_NEITHER},
    {"save|checkpoint|ckpt|save_checkpoint|checkpointing|save_model|保存", "checkpoint", DIAG_SAVE, DIAG_NEITHER},
    {"idle|空闲|wait|等待", "idle", DIAG_IDLE, DIAG_NEITHER},
    {"train_wait|wait_prev_gen|wait_for_rollout|wait_rollout|exposed_generation", DIAG_WAIT_ROLLOUT, DIAG_WAITING,
     DIAG_ROLLOUT},
    {"total|step|step_time|step_total|iteration|elapsed|总计|总耗时", diag_total_mark},
    {NULL},
};

/* Parts of a name that tell its kind when nobody knows the name itself. */
static const struct {
    const char *parts;
    enum diag_kind kind;
} hints[] = {
    {"all_reduce|allreduce|all_gather|allgather|reduce_scatter|reducescatter|all_to_all|alltoall|broadcast|nccl|"
     "_sync|sync_|send|recv|_comm|通信|同步",
     DIAG_COMMUNICATION},
    {"offload", DIAG_OFFLOAD},
    {"dataload", DIAG_DATA},
    {"checkpoint", DIAG_SAVE},
};

/* Names that frameworks build of a model and what is done with it: "actor_backward", "critic_forward". */
static const char models[] = "actor|critic|policy|ref|reference|value|student|model";
static const char acts[] =
    "forward|backward|fwd|bwd|update|train|step|optimizer|optim|optimizer_step|loss|log_prob|logprob|"
    "logprobs|forward_backward|infer|training|forward_micro|compute|inference";

static void fold(const char *name, size_t len, char out[DIAG_NAME])
{
    while (len && (*name == ' ' || *name == '_')) {
        name++;
        len--;
    }
    while (len && name[len - 1] == ' ')
        len--;
    size_t n = len < DIAG_NAME - 1 ? len : DIAG_NAME - 1;
    /* Cut between the characters of UTF-8, never within one. */
    while (n < len && n && ((unsigned char)name[n] & 0xc0) == 0x80)
        n--;
    for (size_t i = 0; i < n; i++) {
        char c = name[i];
        out[i] = c == '-' || c == ' ' ? '_' : c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    out[n] = 0;
}

const struct diag_word *diag_find_word(const struct diag_word *table, const char *word, size_t len)
{
    for (; table && table->word; table++)
        if (diag_is_one_of(table->word, word, len))
            return table;
    return NULL;
}

static int is_model_act(const char *word)
{
    size_t n = strcspn(word, "_");
    return word[n] && diag_is_one_of(models, word, n) && diag_is_one_of(acts, word + n + 1, strlen(word + n + 1));
}

static int holds_one_of(const char *word, const char *parts)
{
    for (size_t n; *parts; parts += n + (parts[n] == '|')) {
        n = strcspn(parts, "|");
        if (memmem(word, strlen(word), parts, n))
            return 1;
    }
    return 0;
}

struct diag_word diag_word_of(const struct diag_word *own, const char *name, size_t len, char buffer[DIAG_NAME])
{
    fold(name, len, buffer);
    const struct diag_word *known = diag_find_word(own, buffer, strlen(buffer));
    if (!known)
        known = diag_find_word(common, buffer, strlen(buffer));
    /* "forward_time", "sync_ms": the unit is no part of the name. */
    static const char *const units[] = {"_time", "_ms", "_s", "_sec", "_seconds"};
    for (size_t i = 0; !known && i < sizeof units / sizeof *units; i++) {
        size_t n = strlen(buffer), unit = strlen(units[i]);
        if (n > unit && !strcmp(buffer + n - unit, units[i]))
            known = diag_find_word(common, buffer, n - unit);
    }
    if (known)
        return *known;
    if (is_model_act(buffer))
        return (struct diag_word){buffer, buffer, DIAG_COMPUTE, DIAG_TRAIN};
    struct diag_word guess = {buffer, buffer, DIAG_OTHER, DIAG_NEITHER, NULL, 1};
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (holds_one_of(buffer, hints[i].parts)) {
            guess.kind = hints[i].kind;
            break;
        }
    if (!*buffer)
        guess.phase = NULL;
    return guess;
}
