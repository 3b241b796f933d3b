/* The same command on many nodes at once, through an agent like ssh. */
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "core/proc.h"
#include "core/progress.h"
#include "envgen/install/install.h"

#define TEXT_LIMIT 4096

struct slot {
    struct proc proc;
    struct install_answer *answer; /* NULL: free */
    double until;
    size_t used;
    char text[TEXT_LIMIT];
};

/* A command line for the shell on the node, every word between quotes. */
static const char *command_of(const struct install_hosts *h, const char *const *words, struct arena *a)
{
    const char *line = arena_printf(a, "'%s' install-profile", h->program);
    for (; *words; words++) {
        line = arena_printf(a, "%s '", line);
        for (const char *c = *words; *c; c++)
            line = *c == '\'' ? arena_printf(a, "%s'\\''", line) : arena_printf(a, "%s%c", line, *c);
        line = arena_printf(a, "%s'", line);
    }
    return line;
}

/* A shell puts the bundle on the agent's standard input, and both its outputs into one. */
static int start(struct slot *s, const struct install_hosts *h, struct install_answer *answer, const char *command,
                 const char *bundle, struct arena *a, struct err *e)
{
    int n;
    const char **agent = proc_split(h->agent, a, &n, e), **argv;
    if (!agent || !n)
        return err_set(e, ERR_USAGE, "'%s' is no command that reaches a host", h->agent);
    argv = arena_alloc(a, (size_t)(n + 8) * sizeof *argv);
    const char **word = argv;
    *word++ = "sh";
    *word++ = "-c";
    *word++ = "exec \"$@\" <\"$0\" 2>&1";
    *word++ = bundle ? bundle : "/dev/null";
    for (int i = 0; i < n; i++)
        *word++ = agent[i];
    *word++ = answer->host;
    *word++ = command;
    *word = NULL;
    s->answer = answer;
    s->until = progress_now_s() + h->patience_s;
    s->used = 0;
    return proc_spawn(&s->proc, argv, NULL, e);
}

static void finish(struct slot *s, const char *why, struct arena *a)
{
    char status[PROC_STATUS_TEXT];
    int ended = !why && proc_ended(&s->proc, 2);
    proc_stop(&s->proc, 0.5);
    s->text[s->used] = 0;
    s->text[strcspn(s->text, "\n")] = 0;
    s->answer->failed = why || !ended || s->proc.status != 0;
    if (s->answer->failed && !s->text[0])
        s->answer->text = arena_strdup(a, why ? why : proc_status_text(s->proc.status, status));
    else
        s->answer->text = arena_printf(a, "%s%s%s", s->text, why ? "; " : "", why ? why : "");
    s->answer = NULL;
}

/* What has come; at its end the node has answered. */
static void listen_to(struct slot *s, int readable, struct arena *a)
{
    char dropped[512];
    int room = s->used + 1 < sizeof s->text;
    ssize_t n = 1;
    if (readable)
        n = read(s->proc.out, room ? s->text + s->used : dropped, room ? sizeof s->text - 1 - s->used : sizeof dropped);
    if (readable && n > 0 && room)
        s->used += (size_t)n;
    if (n <= 0)
        finish(s, NULL, a);
    else if (progress_now_s() > s->until)
        finish(s, "no answer in time", a);
}

int install_on_hosts(const struct install_hosts *h, const char *const *words, const char *bundle, struct arena *a,
                     struct install_answer *answers)
{
    const char *command = command_of(h, words, a);
    struct slot *slots = arena_alloc(a, (size_t)h->parallel * sizeof *slots);
    struct pollfd *fds = arena_alloc(a, (size_t)h->parallel * sizeof *fds);
    int next = 0, running = 0, failed = 0;
    memset(slots, 0, (size_t)h->parallel * sizeof *slots);
    do {
        for (int i = 0; i < h->parallel; i++) {
            struct err e = {0};
            if (!slots[i].answer && next < h->nhosts) {
                answers[next] = (struct install_answer){.host = h->hosts[next]};
                if (start(&slots[i], h, &answers[next++], command, bundle, a, &e))
                    finish(&slots[i], e.text, a);
            }
            fds[i] = (struct pollfd){.fd = slots[i].answer ? slots[i].proc.out : -1, .events = POLLIN};
        }
        poll(fds, (nfds_t)h->parallel, 100);
        running = 0;
        for (int i = 0; i < h->parallel; i++) {
            if (slots[i].answer)
                listen_to(&slots[i], fds[i].revents != 0, a);
            running += slots[i].answer != NULL;
        }
    } while (running || next < h->nhosts);
    for (int i = 0; i < h->nhosts; i++)
        failed += answers[i].failed;
    return failed;
}
