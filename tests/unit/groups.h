/* The groups of tests of one directory, in one program. The Makefile makes the table from the names of the files. */
#pragma once

struct group {
    const char *name; // of the file: "test_gid"
    int (*run)(void); // the function of that name; returns how many tests failed
};

extern const struct group groups[]; // ends with a name of NULL
