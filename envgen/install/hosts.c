/* The same command on many nodes at once, through an agent like ssh. */
#include <string.h>

#include "core/vars/text.h"
#include "envgen/install/install.h"
#include "probe/cluster/cluster.h"

/* A command line for the shell on the node. */
static const char *command_of(const struct install_hosts *h, const char *const *words, struct arena *a)
{
    const char *line = arena_printf(a, "%s install-profile", env_shell_word(a, h->program));
    for (; *words; words++)
        line = arena_printf(a, "%s %s", line, env_shell_word(a, *words));
    return line;
}

struct spreading {
    struct install_answer *answers;
    int failed;
    struct arena *a;
};

/* The first line says it all: what was done, or why not. */
static void take_answer(void *user, int host, const struct cluster_answer *answer)
{
    struct spreading *s = user;
    struct install_answer *own = &s->answers[host];
    const char *line = answer->text ? arena_strndup(s->a, answer->text, answer->bytes) : "";
    own->failed = answer->why || !answer->exited;
    own->text = arena_strndup(s->a, line, strcspn(line, "\n"));
    if (!*own->text)
        own->text = answer->why ? arena_strdup(s->a, answer->why) : answer->exited ? "" : "its end is not known";
    s->failed += own->failed;
}

int install_on_hosts(const struct install_hosts *h, const char *const *words, const char *bundle, struct arena *a,
                     struct install_answer *answers)
{
    struct spreading s = {answers, 0, a};
    struct err e = {0};
    /* A shell puts the bundle on the agent's standard input, and both its outputs into one. */
    const char *agent =
        arena_printf(a, "sh -c 'exec \"$@\" <\"$0\" 2>&1' %s %s", bundle ? bundle : "/dev/null", h->agent);
    const struct cluster_ask ask = {.hosts = h->hosts,
                                    .nhosts = h->nhosts,
                                    .agent = agent,
                                    .command = command_of(h, words, a),
                                    .deadline_s = h->patience_s,
                                    .parallel = h->parallel};
    for (int i = 0; i < h->nhosts; i++)
        answers[i] = (struct install_answer){.host = h->hosts[i]};
    if (!cluster_ask_each(&ask, NULL, take_answer, &s, &e))
        return s.failed;
    for (int i = 0; i < h->nhosts; i++) {
        answers[i].failed = 1;
        answers[i].text = arena_strdup(a, e.text);
    }
    return h->nhosts;
}
