/* What the names of timers mean. */
#include <string.h>

#include "envgen/diagnose/diagnose_internal.h"

const char diag_total_mark[] = "step";

/* Names that several frameworks and hand-written logs share. verl's are those of its trainer's timers. */
static const struct diag_word common[] = {
    {"gen", "rollout", DIAG_COMPUTE, DIAG_ROLLOUT},
    {"generate", "rollout", DIAG_COMPUTE, DIAG_ROLLOUT},
    {"generation", "rollout", DIAG_COMPUTE, DIAG_ROLLOUT},
    {"rollout", "rollout", DIAG_COMPUTE, DIAG_ROLLOUT},
    {"inference", "rollout", DIAG_COMPUTE, DIAG_ROLLOUT},
    {"生成", "rollout", DIAG_COMPUTE, DIAG_ROLLOUT},
    {"采样", "rollout", DIAG_COMPUTE, DIAG_ROLLOUT},
    {"推理", "rollout", DIAG_COMPUTE, DIAG_ROLLOUT},
    {"logprob", "log-probabilities", DIAG_COMPUTE, DIAG_TRAIN},
    {"log_prob", "log-probabilities", DIAG_COMPUTE, DIAG_TRAIN},
    {"logprobs", "log-probabilities", DIAG_COMPUTE, DIAG_TRAIN},
    {"old_log_prob", "log-probabilities", DIAG_COMPUTE, DIAG_TRAIN},
    {"对数概率", "log-probabilities", DIAG_COMPUTE, DIAG_TRAIN},
    {"ref", "reference", DIAG_COMPUTE, DIAG_TRAIN},
    {"reference", "reference", DIAG_COMPUTE, DIAG_TRAIN},
    {"ref_log_prob", "reference", DIAG_COMPUTE, DIAG_TRAIN},
    {"参考模型", "reference", DIAG_COMPUTE, DIAG_TRAIN},
    {"values", "critic values", DIAG_COMPUTE, DIAG_TRAIN},
    {"loss", "loss", DIAG_COMPUTE, DIAG_TRAIN},
    {"step_actor", "actor update", DIAG_COMPUTE, DIAG_TRAIN},
    {"critic", "critic", DIAG_COMPUTE, DIAG_TRAIN},
    {"update_critic", "critic update", DIAG_COMPUTE, DIAG_TRAIN},
    {"actor", "actor update", DIAG_COMPUTE, DIAG_TRAIN},
    {"update_actor", "actor update", DIAG_COMPUTE, DIAG_TRAIN},
    {"update", "actor update", DIAG_COMPUTE, DIAG_TRAIN},
    {"train", "training", DIAG_COMPUTE, DIAG_TRAIN},
    {"training", "training", DIAG_COMPUTE, DIAG_TRAIN},
    {"训练", "training", DIAG_COMPUTE, DIAG_TRAIN},
    {"更新", "actor update", DIAG_COMPUTE, DIAG_TRAIN},
    {"compute", "compute", DIAG_COMPUTE, DIAG_TRAIN},
    {"计算", "compute", DIAG_COMPUTE, DIAG_TRAIN},
    {"forward", "forward", DIAG_COMPUTE, DIAG_TRAIN},
    {"fwd", "forward", DIAG_COMPUTE, DIAG_TRAIN},
    {"前向", "forward", DIAG_COMPUTE, DIAG_TRAIN},
    {"backward", "backward", DIAG_COMPUTE, DIAG_TRAIN},
    {"bwd", "backward", DIAG_COMPUTE, DIAG_TRAIN},
    {"反向", "backward", DIAG_COMPUTE, DIAG_TRAIN},
    {"optimizer", "optimizer", DIAG_COMPUTE, DIAG_TRAIN},
    {"optim", "optimizer", DIAG_COMPUTE, DIAG_TRAIN},
    {"优化器", "optimizer", DIAG_COMPUTE, DIAG_TRAIN},
    {"reward", "reward", DIAG_OTHER, DIAG_NEITHER},
    {"奖励", "reward", DIAG_OTHER, DIAG_NEITHER},
    {"adv", "advantages", DIAG_OTHER, DIAG_NEITHER},
    {"advantage", "advantages", DIAG_OTHER, DIAG_NEITHER},
    {"sync", "sync", DIAG_COMMUNICATION, DIAG_NEITHER},
    {"同步", "sync", DIAG_COMMUNICATION, DIAG_NEITHER},
    {"comm", "communication", DIAG_COMMUNICATION, DIAG_NEITHER},
    {"communication", "communication", DIAG_COMMUNICATION, DIAG_NEITHER},
    {"通信", "communication", DIAG_COMMUNICATION, DIAG_NEITHER},
    {"grad_sync", "gradient sync", DIAG_COMMUNICATION, DIAG_TRAIN},
    {"gradient_sync", "gradient sync", DIAG_COMMUNICATION, DIAG_TRAIN},
    {"梯度同步", "gradient sync", DIAG_COMMUNICATION, DIAG_TRAIN},
    {"weight_sync", "weight sync", DIAG_COMMUNICATION, DIAG_ROLLOUT},
    {"param_sync", "weight sync", DIAG_COMMUNICATION, DIAG_ROLLOUT},
    {"sync_rollout_weights", "weight sync", DIAG_COMMUNICATION, DIAG_ROLLOUT},
    {"update_weights", "weight sync", DIAG_COMMUNICATION, DIAG_ROLLOUT},
    {"move_model_to_vllm", "weight sync", DIAG_COMMUNICATION, DIAG_ROLLOUT},
    {"权重同步", "weight sync", DIAG_COMMUNICATION, DIAG_ROLLOUT},
    {"参数同步", "weight sync", DIAG_COMMUNICATION, DIAG_ROLLOUT},
    {"reshard", "weight sync within rollout", DIAG_COMMUNICATION, DIAG_ROLLOUT, "rollout"},
    {"data", "data", DIAG_DATA, DIAG_NEITHER},
    {"dataloader", "data", DIAG_DATA, DIAG_NEITHER},
    {"data_loading", "data", DIAG_DATA, DIAG_NEITHER},
    {"data_loader", "data", DIAG_DATA, DIAG_NEITHER},
    {"data_time", "data", DIAG_DATA, DIAG_NEITHER},
    {"数据", "data", DIAG_DATA, DIAG_NEITHER},
    {"数据加载", "data", DIAG_DATA, DIAG_NEITHER},
    {"offload", "offload", DIAG_OFFLOAD, DIAG_NEITHER},
    {"onload", "offload", DIAG_OFFLOAD, DIAG_NEITHER},
    {"卸载", "offload", DIAG_OFFLOAD, DIAG_NEITHER},
    {"testing", "validation", DIAG_SAVE, DIAG_NEITHER},
    {"eval", "validation", DIAG_SAVE, DIAG_NEITHER},
    {"validation", "validation", DIAG_SAVE, DIAG_NEITHER},
    {"验证", "validation", DIAG_SAVE, DIAG_NEITHER},
    {"save", "checkpoint", DIAG_SAVE, DIAG_NEITHER},
    {"checkpoint", "checkpoint", DIAG_SAVE, DIAG_NEITHER},
    {"ckpt", "checkpoint", DIAG_SAVE, DIAG_NEITHER},
    {"save_checkpoint", "checkpoint", DIAG_SAVE, DIAG_NEITHER},
    {"保存", "checkpoint", DIAG_SAVE, DIAG_NEITHER},
    {"idle", "idle", DIAG_IDLE, DIAG_NEITHER},
    {"空闲", "idle", DIAG_IDLE, DIAG_NEITHER},
    {"wait", "idle", DIAG_IDLE, DIAG_NEITHER},
    {"等待", "idle", DIAG_IDLE, DIAG_NEITHER},
    {"total", diag_total_mark},
    {"step", diag_total_mark},
    {"step_time", diag_total_mark},
    {"iteration", diag_total_mark},
    {"elapsed", diag_total_mark},
    {"总计", diag_total_mark},
    {"总耗时", diag_total_mark},
    {NULL},
};

/* Parts of a name that tell its kind when nobody knows the name itself. */
static const struct {
    const char *part;
    enum diag_kind kind;
} hints[] = {
    {"all_reduce", DIAG_COMMUNICATION},
    {"allreduce", DIAG_COMMUNICATION},
    {"all_gather", DIAG_COMMUNICATION},
    {"allgather", DIAG_COMMUNICATION},
    {"reduce_scatter", DIAG_COMMUNICATION},
    {"reducescatter", DIAG_COMMUNICATION},
    {"all_to_all", DIAG_COMMUNICATION},
    {"alltoall", DIAG_COMMUNICATION},
    {"broadcast", DIAG_COMMUNICATION},
    {"nccl", DIAG_COMMUNICATION},
    {"_sync", DIAG_COMMUNICATION},
    {"sync_", DIAG_COMMUNICATION},
    {"send", DIAG_COMMUNICATION},
    {"recv", DIAG_COMMUNICATION},
    {"_comm", DIAG_COMMUNICATION},
    {"通信", DIAG_COMMUNICATION},
    {"同步", DIAG_COMMUNICATION},
    {"offload", DIAG_OFFLOAD},
    {"dataload", DIAG_DATA},
    {"checkpoint", DIAG_SAVE},
};

/* Names that frameworks build of a model and what is done with it: "actor_backward", "critic_forward". */
static const char *const models[] = {"actor_",     "critic_", "policy_",  "ref_",
                                     "reference_", "value_",  "student_", "model_"};
static const char *const acts[] = {"forward", "backward", "fwd",           "bwd",      "update",
                                   "train",   "step",     "optimizer",     "optim",    "optimizer_step",
                                   "loss",    "log_prob", "logprob",       "logprobs", "forward_backward",
                                   "infer",   "training", "forward_micro", "compute",  "inference"};

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

static const struct diag_word *find(const struct diag_word *table, const char *word)
{
    for (; table && table->word; table++)
        if (!strcmp(table->word, word))
            return table;
    return NULL;
}

static int is_model_act(const char *word)
{
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        size_t n = strlen(models[m]);
        for (size_t i = 0; !strncmp(word, models[m], n) && i < sizeof acts / sizeof *acts; i++)
            if (!strcmp(word + n, acts[i]))
                return 1;
    }
    return 0;
}

struct diag_word diag_word_of(const struct diag_word *own, const char *name, size_t len, char buffer[DIAG_NAME])
{
    fold(name, len, buffer);
    const struct diag_word *known = find(own, buffer);
    if (!known)
        known = find(common, buffer);
    if (known)
        return *known;
    if (is_model_act(buffer))
        return (struct diag_word){buffer, buffer, DIAG_COMPUTE, DIAG_TRAIN};
    struct diag_word guess = {buffer, buffer, DIAG_OTHER, DIAG_NEITHER, NULL, 1};
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (strstr(buffer, hints[i].part)) {
            guess.kind = hints[i].kind;
            break;
        }
    if (!*buffer)
        guess.phase = NULL;
    return guess;
}
