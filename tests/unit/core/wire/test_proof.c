/* The proof over a socket pair: both honest, a wrong secret on either side, old conversations played again, answers
 * sent back, proofs passed on by somebody between, bits changed, silence, and the secret nowhere on the wire. */
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/wire/wire.h"
#include "tests/lib/unit.h"

static int ends[2]; /* the conductor's, the agent's */
static struct proof conductor, agent;
static struct secret ours, theirs;

static int begin(void **state)
{
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) || secret_make(&ours) || secret_make(&theirs) ||
           proof_begin(&conductor, &ours, 0) || proof_begin(&agent, &ours, 1);
}

static int end(void **state)
{
    close(ends[0]);
    close(ends[1]);
    return 0;
}

static void again(void **state)
{
    end(state);
    assert_int_equal(begin(state), 0);
}

/* Each in turn until both are through (1) or one gives up (-1). */
static int talk(void)
{
    for (int i = 0; i < 8; i++) {
        int a = proof_go_on(&agent, ends[1]), c = proof_go_on(&conductor, ends[0]);
        if (a < 0 || c < 0)
            return -1;
        if (a && c)
            return 1;
    }
    return 0;
}

TEST_CASE(both_have_it)
{
    struct connection a, c;
    struct frame f;
    assert_int_equal(talk(), 1);
    assert_int_equal(connection_open(&c, dup(ends[0]), dup(ends[0])), 0);
    assert_int_equal(connection_open(&a, dup(ends[1]), dup(ends[1])), 0);
    proof_seal(&conductor, &c);
    proof_seal(&agent, &a);
    assert_memory_equal(a.out_seal.key, c.in_seal.key, HMAC_BYTES);
    assert_memory_not_equal(a.out_seal.key, a.in_seal.key, HMAC_BYTES);
    assert_int_equal(connection_send(&c, 40, 1, "go", 2), 0);
    assert_int_equal(connection_send(&a, 41, 1, "ok", 2), 0);
    assert_int_equal(connection_fill(&a), 1);
    assert_int_equal(connection_next(&a, &f), 1);
    assert_int_equal(connection_fill(&c), 1);
    assert_int_equal(connection_next(&c, &f), 1);
    connection_close(&a);
    connection_close(&c);
}

/* The conversation comes byte by byte. */
TEST_CASE(a_slow_network_proves_it_too)
{
    int more[2], a = 0, c = 0;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, more), 0);
    for (int i = 0; i < 2000 && (a != 1 || c != 1); i++) {
        char byte;
        a = a == 1 ? 1 : proof_go_on(&agent, ends[1]);
        c = c == 1 ? 1 : proof_go_on(&conductor, more[0]);
        assert_true(a >= 0 && c >= 0);
        if (recv(ends[0], &byte, 1, MSG_DONTWAIT) == 1)
            assert_int_equal(send(more[1], &byte, 1, 0), 1);
        if (recv(more[1], &byte, 1, MSG_DONTWAIT) == 1)
            assert_int_equal(send(ends[0], &byte, 1, 0), 1);
    }
    assert_true(a == 1 && c == 1);
    close(more[0]);
    close(more[1]);
}

/* The first frame is on its heels, and stays in the socket. */
TEST_CASE(nothing_behind_a_proof_is_read)
{
    struct proof_last last;
    char behind[2];
    assert_int_equal(proof_go_on(&agent, ends[1]), 0);
    assert_int_equal(proof_go_on(&conductor, ends[0]), 0);
    assert_int_equal(proof_go_on(&agent, ends[1]), 1);
    assert_int_equal(read(ends[0], &last, sizeof last), sizeof last);
    assert_int_equal(write(ends[1], &last, 10), 10);
    assert_int_equal(proof_go_on(&conductor, ends[0]), 0);
    assert_int_equal(write(ends[1], (char *)&last + 10, sizeof last - 10), sizeof last - 10);
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_int_equal(proof_go_on(&conductor, ends[0]), 1);
    assert_int_equal(recv(ends[0], behind, sizeof behind, MSG_DONTWAIT), 1);
}

/* Both wait for each other, and sleep meanwhile. */
TEST_CASE(waiting)
{
    int status;
    pid_t child = fork();
    if (!child) {
        usleep(200000);
        _exit(proof_wait(&agent, ends[1], 20000));
    }
    clock_t before = clock();
    assert_int_equal(proof_wait(&conductor, ends[0], 20000), 0);
    assert_true(clock() - before < CLOCKS_PER_SEC / 20);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

TEST_CASE(a_secret_is_what_its_digits_say)
{
    struct secret read;
    char hex[SECRET_HEX];
    secret_hex(&ours, hex);
    assert_int_equal(secret_parse(&read, hex), 0);
    assert_memory_equal(read.bytes, ours.bytes, sizeof read.bytes);
    assert_int_equal(hex[SECRET_HEX - 1], 0);
    hex[7] = 'A';
    assert_int_equal(secret_parse(&read, hex), -1);
    secret_hex(&ours, hex);
    hex[2 * SECRET_BYTES - 1] = 0;
    assert_int_equal(secret_parse(&read, hex), -1);
    assert_int_equal(secret_parse(&read, ""), -1);
    char longer[SECRET_HEX + 1];
    secret_hex(&ours, longer);
    strcpy(longer + 2 * SECRET_BYTES, "0");
    assert_int_equal(secret_parse(&read, longer), -1);
}

TEST_CASE(a_wrong_secret_is_found_by_either_side)
{
    assert_int_equal(proof_begin(&agent, &theirs, 1), 0);
    assert_int_equal(proof_go_on(&agent, ends[1]), 0);
    assert_int_equal(proof_go_on(&conductor, ends[0]), 0);
    assert_int_equal(proof_go_on(&agent, ends[1]), -1);
    /* An agent that goes on all the same: with the conductor's nonce, but not its secret. */
    again(state);
    struct proof_answer answer;
    assert_int_equal(proof_go_on(&agent, ends[1]), 0);
    assert_int_equal(proof_go_on(&conductor, ends[0]), 0);
    assert_int_equal(read(ends[1], &answer, sizeof answer), sizeof answer);
    assert_int_equal(write(ends[1], answer.mac, sizeof answer.mac), sizeof answer.mac); /* sent back */
    assert_int_equal(proof_go_on(&conductor, ends[0]), -1);
}

/* The right secret in a program of another version: its frames would be something else. */
TEST_CASE(another_version_is_turned_away)
{
    agent.opening.version++;
    assert_int_equal(talk(), -1);
}

/* What went over the wire from the conductor and from the agent in an honest conversation. */
static void record(char from_conductor[sizeof(struct proof_answer)], char from_agent[sizeof(struct proof_opening)],
                   char last[sizeof(struct proof_last)])
{
    assert_int_equal(proof_go_on(&agent, ends[1]), 0);
    assert_int_equal(read(ends[0], from_agent, sizeof(struct proof_opening)), sizeof(struct proof_opening));
    assert_int_equal(write(ends[1], from_agent, sizeof(struct proof_opening)), sizeof(struct proof_opening));
    assert_int_equal(proof_go_on(&conductor, ends[0]), 0);
    assert_int_equal(read(ends[1], from_conductor, sizeof(struct proof_answer)), sizeof(struct proof_answer));
    assert_int_equal(write(ends[0], from_conductor, sizeof(struct proof_answer)), sizeof(struct proof_answer));
    assert_int_equal(proof_go_on(&agent, ends[1]), 1);
    assert_int_equal(read(ends[0], last, sizeof(struct proof_last)), sizeof(struct proof_last));
    assert_int_equal(write(ends[1], last, sizeof(struct proof_last)), sizeof(struct proof_last));
    assert_int_equal(proof_go_on(&conductor, ends[0]), 1);
}

TEST_CASE(an_old_conversation_is_worth_nothing)
{
    char answer[sizeof(struct proof_answer)], opening[sizeof(struct proof_opening)], last[sizeof(struct proof_last)];
    struct secret same = ours;
    record(answer, opening, last);
    /* to a conductor of the same run */
    end(state);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(proof_begin(&conductor, &same, 0), 0);
    assert_int_equal(write(ends[1], opening, sizeof opening), sizeof opening);
    assert_int_equal(write(ends[1], last, sizeof last), sizeof last);
    assert_int_equal(proof_go_on(&conductor, ends[0]), -1);
    /* to an agent of the same run */
    end(state);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(proof_begin(&agent, &same, 1), 0);
    assert_int_equal(write(ends[0], answer, sizeof answer), sizeof answer);
    assert_int_equal(proof_go_on(&agent, ends[1]), -1);
}

/* What is seen on the wire is neither the secret nor a key of the frames that follow. */
TEST_CASE(the_wire_tells_nothing)
{
    char seen[sizeof(struct proof_answer) + sizeof(struct proof_opening) + sizeof(struct proof_last)];
    char *opening = seen + sizeof(struct proof_answer), *last = opening + sizeof(struct proof_opening);
    struct connection c = {.from = -1};
    record(seen, opening, last);
    proof_seal(&conductor, &c);
    assert_null(memmem(seen, sizeof seen, ours.bytes, 8));
    assert_null(memmem(seen, sizeof seen, c.in_seal.key, 8));
    assert_null(memmem(seen, sizeof seen, c.out_seal.key, 8));
    assert_null(memmem(&conductor, sizeof conductor, ours.bytes, 8)); /* wiped */
}

TEST_CASE(no_bit_of_a_proof_can_be_changed)
{
    char answer[sizeof(struct proof_answer)], opening[sizeof(struct proof_opening)], last[sizeof(struct proof_last)];
    for (size_t bit = 0; bit < 8 * sizeof opening; bit++) {
        again(state);
        assert_int_equal(proof_go_on(&agent, ends[1]), 0);
        assert_int_equal(read(ends[0], opening, sizeof opening), sizeof opening);
        opening[bit / 8] ^= (char)(1 << bit % 8);
        assert_int_equal(write(ends[1], opening, sizeof opening), sizeof opening);
        assert_int_equal(talk(), -1);
    }
    for (size_t bit = 0; bit < 8 * sizeof answer; bit++) {
        again(state);
        assert_int_equal(proof_go_on(&agent, ends[1]), 0);
        assert_int_equal(proof_go_on(&conductor, ends[0]), 0);
        assert_int_equal(read(ends[1], answer, sizeof answer), sizeof answer);
        answer[bit / 8] ^= (char)(1 << bit % 8);
        assert_int_equal(write(ends[0], answer, sizeof answer), sizeof answer);
        assert_int_equal(proof_go_on(&agent, ends[1]), -1);
    }
    for (size_t bit = 0; bit < 8 * sizeof last; bit++) {
        again(state);
        assert_int_equal(proof_go_on(&agent, ends[1]), 0);
        assert_int_equal(proof_go_on(&conductor, ends[0]), 0);
        assert_int_equal(proof_go_on(&agent, ends[1]), 1);
        assert_int_equal(read(ends[0], last, sizeof last), sizeof last);
        last[bit / 8] ^= (char)(1 << bit % 8);
        assert_int_equal(write(ends[1], last, sizeof last), sizeof last);
        assert_int_equal(proof_go_on(&conductor, ends[0]), -1);
    }
}

TEST_CASE(half_a_message_and_silence_prove_nothing)
{
    assert_int_equal(proof_go_on(&conductor, ends[0]), 0);
    assert_int_equal(write(ends[1], "\x6b", 1), 1);
    assert_int_equal(proof_go_on(&conductor, ends[0]), 0);
    assert_int_equal(proof_wait(&agent, ends[1], 50), -1);
    shutdown(ends[1], SHUT_WR);
    int rc = 0;
    for (int i = 0; i < 4 && !rc; i++)
        rc = proof_go_on(&conductor, ends[0]);
    assert_int_equal(rc, -1);
    again(state);
    static char flood[4096];
    assert_int_equal(write(ends[1], flood, sizeof flood), sizeof flood);
    assert_int_equal(proof_go_on(&conductor, ends[0]), -1);
}

/* The other side goes, at each step; what was proven stays so. */
TEST_CASE(nobody_is_there_any_more)
{
    shutdown(ends[1], SHUT_WR);
    assert_int_equal(proof_go_on(&conductor, ends[0]), -1);
    again(state);
    shutdown(ends[0], SHUT_WR);
    assert_int_equal(proof_go_on(&agent, ends[1]), -1);
    again(state);
    assert_int_equal(proof_go_on(&agent, ends[1]), 0);
    assert_int_equal(proof_go_on(&conductor, ends[0]), 0);
    shutdown(ends[1], SHUT_WR);
    assert_int_equal(proof_go_on(&conductor, ends[0]), -1);
    again(state);
    assert_int_equal(proof_go_on(&conductor, -1), -1);
    assert_int_equal(talk(), 1);
    shutdown(ends[1], SHUT_WR);
    assert_int_equal(proof_go_on(&conductor, ends[0]), 1);
}

/* Frames that come right behind the proof are left for the connection. */
TEST_CASE(the_first_frame_may_come_with_the_proof)
{
    struct proof_answer answer;
    assert_int_equal(proof_go_on(&agent, ends[1]), 0);
    assert_int_equal(proof_go_on(&conductor, ends[0]), 0);
    assert_int_equal(recv(ends[1], &answer, sizeof answer, MSG_PEEK), sizeof answer);
    assert_int_equal(proof_go_on(&agent, ends[1]), 1);
    assert_int_equal(write(ends[1], "behind", 6), 6);
    assert_int_equal(proof_go_on(&conductor, ends[0]), 1);
    char behind[8];
    assert_int_equal(read(ends[0], behind, sizeof behind), 6);
}

TEST_CASE(secrets_in_text)
{
    char hex[SECRET_HEX], broken[SECRET_HEX + 1];
    struct secret s;
    secret_hex(&ours, hex);
    assert_int_equal(secret_parse(&s, hex), 0);
    assert_memory_equal(&s, &ours, sizeof s);
    assert_memory_not_equal(&ours, &theirs, sizeof ours);
    strcpy(broken, hex);
    broken[7] = 'g';
    assert_int_equal(secret_parse(&s, broken), -1);
    assert_int_equal(secret_parse(&s, ""), -1);
    hex[SECRET_HEX - 2] = 0;
    assert_int_equal(secret_parse(&s, hex), -1);
    secret_hex(&ours, hex);
    strcpy(broken, hex);
    strcat(broken, "0");
    assert_int_equal(secret_parse(&s, broken), -1);
    /* It is taken out of the environment, and out of where the environment lies. */
    char variable[sizeof SECRET_VARIABLE + SECRET_HEX] = SECRET_VARIABLE "=";
    strcat(variable, hex);
    putenv(variable);
    assert_int_equal(secret_take_from_environment(&s), 0);
    assert_memory_equal(&s, &ours, sizeof s);
    assert_null(getenv(SECRET_VARIABLE));
    assert_string_equal(variable, SECRET_VARIABLE "=");
    assert_int_equal(secret_take_from_environment(&s), -1);
}

TEST_CASES_EACH(test_proof, begin, end)
