/* The main function of a directory's unit tests. A link to the program has the name of a group and runs it; the program
 * itself, DIRECTORY/tests, runs all groups, each in a process of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/groups.h"

static int run_in_a_child(const struct group *g)
{
    int status = 1;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        exit(g->run());
    if (pid < 0 || waitpid(pid, &status, 0) < 0)
        perror(g->name);
    return status != 0;
}

int main(int argc, char **argv)
{
    const char *slash = argc ? strrchr(argv[0], '/') : NULL, *name = slash ? slash + 1 : argc ? argv[0] : "";
    int failed = 0;
    for (const struct group *g = groups; g->name; g++)
        if (!strcmp(g->name, name))
            return g->run();
    for (const struct group *g = groups; g->name; g++) {
        printf("# %s\n", g->name);
        if (run_in_a_child(g)) {
            printf("# %s failed\n", g->name);
            failed = 1;
        }
    }
    return failed;
}
