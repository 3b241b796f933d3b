/* bench/nccltune-bench/knobs.c over a double of MPI_T: a library with a few variables, which notes what they were when
 * a communicator was made. */
#include "bench/nccltune-bench/knobs.c" /* which is in no library */
#include "tests/lib/unit.h"

/* ---- the double ---- */

struct ompi_predefined_datatype_t {
    char none;
} ompi_mpi_int, ompi_mpi_unsigned, ompi_mpi_double;
struct ompi_predefined_op_t {
    char none;
} ompi_mpi_op_min;
struct ompi_predefined_errhandler_t {
    char none;
} ompi_mpi_errors_return;

enum fault { NONE, NO_INFO, NO_HANDLE, TWO_VALUES, NO_READ, NO_WRITE, KEEPS, NO_READ_AGAIN, NO_ENUM };

static struct variable {
    const char *name;
    struct ompi_predefined_datatype_t *type;
    int has_names;
    enum fault fault;
    int value;
} variables[] = {{"algorithm", &ompi_mpi_int, 1, NONE, 0},   {"segment", &ompi_mpi_unsigned, 0, NONE, 100},
                 {"factor", &ompi_mpi_double, 0, NONE, 0},   {"secret", &ompi_mpi_int, 0, NO_INFO, 0},
                 {"remote", &ompi_mpi_int, 0, NO_HANDLE, 0}, {"pair", &ompi_mpi_int, 0, TWO_VALUES, 0},
                 {"mute", &ompi_mpi_int, 0, NO_READ, 5},     {"fixed", &ompi_mpi_int, 0, NO_WRITE, 5},
                 {"limited", &ompi_mpi_int, 0, KEEPS, 5},    {"gone", &ompi_mpi_int, 0, NO_READ_AGAIN, 5},
                 {"nameless", &ompi_mpi_int, 1, NO_ENUM, 0}};
#define NVARIABLES ((int)(sizeof variables / sizeof *variables))

static const struct {
    const char *name;
    int value;
} names[] = {{"ignore", 0}, {"ring", 4}, {NULL, 0}, {"linear", 1}}; /* one that cannot be had */

static const char *library = "Open MPI v4.1.4, package: Debian";
static int others_ok, nhandles, ndups, nfreed, nagreed, dup_rc;
static int seen[300][2]; /* the first two variables when each communicator was made */
static MPI_Comm base = (MPI_Comm)(void *)&base, free_at[300];

static int failed(int yes)
{
    return yes ? MPI_SUCCESS + 1 : MPI_SUCCESS;
}

int MPI_Get_library_version(char *version, int *n)
{
    *n = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "%s", library);
    return MPI_SUCCESS;
}

int MPI_T_cvar_get_index(const char *name, int *index)
{
    for (*index = 0; *index < NVARIABLES; ++*index)
        if (!strcmp(name, variables[*index].name))
            return MPI_SUCCESS;
    *index = 0;
    return failed(1);
}

int MPI_T_cvar_get_info(int index, char *name, int *name_len, int *verbosity, MPI_Datatype *type, MPI_T_enum *values,
                        char *desc, int *desc_len, int *bind, int *scope)
{
    assert_true(!name && !desc && *name_len == 0 && *desc_len == 0);
    *verbosity = *bind = *scope = 0;
    *type = (MPI_Datatype)(void *)variables[index].type;
    if (values)
        *values = (MPI_T_enum)(void *)(variables[index].has_names ? &variables[index] : NULL);
    return failed(variables[index].fault == NO_INFO);
}

int MPI_T_enum_get_info(MPI_T_enum values, int *n, char *name, int *name_len)
{
    assert_true(!name && *name_len == 0);
    *n = 4;
    return failed(((struct variable *)(void *)values)->fault == NO_ENUM);
}

int MPI_T_enum_get_item(MPI_T_enum values, int index, int *value, char *name, int *name_len)
{
    (void)values;
    assert_true(index >= 0 && index < 4);
    *value = names[index].value;
    snprintf(name, (size_t)*name_len, "%s", names[index].name ? names[index].name : "unknown");
    return failed(!names[index].name);
}

int MPI_T_cvar_handle_alloc(int index, void *object, MPI_T_cvar_handle *handle, int *count)
{
    assert_null(object);
    *handle = (MPI_T_cvar_handle)(void *)&variables[index];
    *count = variables[index].fault == TWO_VALUES ? 2 : 1;
    nhandles += variables[index].fault != NO_HANDLE && *count == 1;
    return failed(variables[index].fault == NO_HANDLE);
}

int MPI_T_cvar_handle_free(MPI_T_cvar_handle *handle)
{
    (void)handle;
    nhandles--;
    return MPI_SUCCESS;
}

int MPI_T_cvar_read(MPI_T_cvar_handle handle, void *to)
{
    struct variable *v = (void *)handle;
    memcpy(to, &v->value, sizeof v->value);
    return failed(v->fault == NO_READ || (v->fault == NO_READ_AGAIN && v->value != 5));
}

int MPI_T_cvar_write(MPI_T_cvar_handle handle, const void *from)
{
    struct variable *v = (void *)handle;
    if (v->fault != KEEPS && v->fault != NO_WRITE)
        memcpy(&v->value, from, sizeof v->value);
    return failed(v->fault == NO_WRITE);
}

int MPI_Allreduce(const void *mine, void *all, int n, MPI_Datatype type, MPI_Op op, MPI_Comm on)
{
    assert_true(n == 1 && type == MPI_INT && op == MPI_MIN && on == base);
    int ok = *(const int *)mine && others_ok;
    memcpy(all, &ok, sizeof ok);
    nagreed++;
    return MPI_SUCCESS;
}

int MPI_Comm_dup(MPI_Comm from, MPI_Comm *to)
{
    assert_ptr_equal(from, base);
    for (int i = 0; i < 2; i++)
        seen[ndups][i] = variables[i].value;
    *to = (MPI_Comm)(void *)&seen[ndups++];
    return dup_rc;
}

int MPI_Comm_set_errhandler(MPI_Comm on, MPI_Errhandler handler)
{
    assert_ptr_equal(on, &seen[ndups - 1]);
    assert_ptr_equal(handler, MPI_ERRORS_RETURN);
    seen[ndups - 1][0] += 1000; /* leaves its mark */
    return MPI_SUCCESS;
}

int MPI_Comm_free(MPI_Comm *which)
{
    free_at[nfreed++] = *which;
    return MPI_SUCCESS;
}

static int begin(void **state)
{
    knobs_free();
    others_ok = 1;
    ndups = nfreed = nagreed = dup_rc = 0;
    return 0;
}

static int end(void **state)
{
    assert_int_equal(nhandles, 0);
    assert_true(variables[0].value == 0 && variables[1].value == 100);
    return 0;
}

/* ---- what there is ---- */

TEST_CASE(the_librarys_name)
{
    static const char *const rows[][2] = {{"Open MPI v4.1.4, package: Debian", "Open MPI 4.1.4"},
                                          {"Open MPI v5.0.0rc1\nmore", "Open MPI 5.0.0rc1"},
                                          {"Open MPI v0.1", "Open MPI 0.1"},
                                          {"Open MPI v9", "Open MPI 9"},
                                          {"Open MPI v:9", "Open MPI v:9"},
                                          {"Open MPI v/9", "Open MPI v/9"},
                                          {"MPICH Version: 4", "MPICH Version: 4"},
                                          {"Some very 4", "Some very 4"}};
    char text[64];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        library = rows[i][0];
        knobs_library(text, sizeof text);
        assert_string_equal(text, rows[i][1]);
    }
    library = rows[0][0];
    knobs_library(text, 9);
    assert_string_equal(text, "Open MPI");
}

TEST_CASE(variables_with_the_names_of_their_values)
{
    char *const asked[] = {"segment", "algorithm", "none", "secret", "nameless"};
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(knobs_describe(asked, 5, out), 0);
    assert_string_equal(text, "{\"library\":\"Open MPI 4.1.4\",\"variables\":{\"segment\":{},"
                              "\"algorithm\":{\"ignore\":0,\"ring\":4,\"linear\":1},\"nameless\":{}}}\n");
    fclose(out);
    free(text);
    out = fopen("/dev/full", "w");
    assert_int_equal(knobs_describe(asked, 5, out), ERR_FAILED);
    fclose(out);
}

/* ---- switching ---- */

static struct err e;

static MPI_Comm under(const char *first, const char *second)
{
    const struct bench_setting settings[] = {{"algorithm", first}, {"segment", second}};
    const struct bench_knobs knobs = {.label = "x", .settings = settings, .nsettings = second ? 2 : 1};
    MPI_Comm comm = NULL;
    if (knobs_comm(&knobs, base, &comm, &e))
        fail_msg("%s", e.text);
    return comm;
}

TEST_CASE(a_communicator_for_every_setting)
{
    MPI_Comm one = under("4", "-7"), two = under("3", NULL);
    assert_ptr_equal(one, &seen[0]);
    assert_true(seen[0][0] == 1004 && seen[0][1] == -7);
    assert_ptr_equal(two, &seen[1]);
    assert_true(seen[1][0] == 1003 && seen[1][1] == 100);
    assert_int_equal(nagreed, 2);
    assert_ptr_equal(under("4", "-7"), one);
    assert_ptr_equal(under("3", NULL), two);
    assert_true(ndups == 2 && nagreed == 2 && nfreed == 0);
    knobs_free();
    assert_true(nfreed == 2 && free_at[0] == two && free_at[1] == one);
    knobs_free();
    assert_int_equal(nfreed, 2);
    assert_ptr_equal(under("3", NULL), &seen[2]);
}

TEST_CASE(no_more_than_there_is_room_for)
{
    char value[16];
    for (int i = 0; i < 128; i++) {
        snprintf(value, sizeof value, "%d", i + 1);
        under(value, NULL);
    }
    assert_true(ndups == 128 && nfreed == 0);
    assert_ptr_equal(under("128", NULL), &seen[127]);
    under("129", NULL);
    assert_true(ndups == 129 && nfreed == 128);
    assert_ptr_equal(under("129", NULL), &seen[128]);
    assert_ptr_equal(under("1", NULL), &seen[129]);
}

TEST_CASE(what_cannot_be_set)
{
    static const struct {
        const char *name, *value, *why;
    } rows[] = {{"none", "1", "this MPI library has no variable none"},
                {"secret", "1", "variable secret does not hold a whole number"},
                {"factor", "1", "variable factor does not hold a whole number"},
                {"remote", "1", "variable remote cannot be reached"},
                {"pair", "1", "variable pair cannot be reached"},
                {"mute", "1", "variable mute does not take 1"},
                {"fixed", "5", "variable fixed does not take 5"},
                {"limited", "6", "variable limited does not take 6"},
                {"gone", "6", "variable gone does not take 6"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct bench_setting settings[] = {{"algorithm", "4"}, {rows[i].name, rows[i].value}, {"segment", "1"}};
        const struct bench_knobs knobs = {.label = "x", .settings = settings, .nsettings = 3};
        MPI_Comm comm;
        assert_int_equal(knobs_comm(&knobs, base, &comm, &e), ERR_FAILED);
        assert_string_equal(e.text, rows[i].why);
        assert_true(variables[0].value == 0 && variables[1].value == 100 && ndups == 0);
        assert_int_equal(nagreed, i + 1);
        variables[9].value = 5;
    }
    const struct bench_setting word = {"algorithm", "ring"};
    MPI_Comm comm;
    assert_int_not_equal(knobs_comm(&(struct bench_knobs){.settings = &word, .nsettings = 1}, base, &comm, &e), 0);
    assert_int_equal(nagreed, 10);
}

TEST_CASE(all_ranks_or_none)
{
    const struct bench_setting four = {"algorithm", "4"};
    const struct bench_knobs knobs = {.settings = &four, .nsettings = 1};
    MPI_Comm comm;
    others_ok = 0;
    assert_int_equal(knobs_comm(&knobs, base, &comm, &e), ERR_FAILED);
    assert_string_equal(e.text, "another rank could not set its variables");
    assert_true(ndups == 0 && variables[0].value == 0);
    others_ok = 1;
    dup_rc = MPI_SUCCESS + 1;
    assert_int_equal(knobs_comm(&knobs, base, &comm, &e), ERR_FAILED);
    assert_string_equal(e.text, "MPI_Comm_dup failed");
    dup_rc = MPI_SUCCESS;
    assert_ptr_equal(under("4", NULL), &seen[1]); /* neither of them is kept */
    assert_int_equal(seen[1][0], 1004);
}

/* "algorithm=" with its value and ';' in 512 characters with their end. */
TEST_CASE(settings_as_long_as_they_may_be)
{
    char value[KEY];
    struct bench_setting one = {"algorithm", value};
    const struct bench_knobs knobs = {.settings = &one, .nsettings = 1};
    MPI_Comm comm;
    memset(value, '0', sizeof value);
    value[KEY - 12] = 0;
    value[KEY - 13] = '3';
    assert_int_equal(knobs_comm(&knobs, base, &comm, &e), 0);
    value[KEY - 12] = '3';
    value[KEY - 11] = 0;
    assert_int_equal(knobs_comm(&knobs, base, &comm, &e), ERR_FAILED);
    assert_string_equal(e.text, "more settings than fit 512 characters");
    assert_int_equal(ndups, 1);
}

TEST_CASES_EACH(main, begin, end)
