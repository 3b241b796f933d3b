/* Loaded objects, without the functions of libdl. */
#pragma once

#include <stddef.h>

/* Path of the loaded object that holds `address`, as the dynamic loader knows it; "" when unknown. */
void plugin_elf_path(const void *address, char *path, size_t size);

/* Number that ncclGetVersion gives (22809 for 2.28.9): of the object that holds `caller`, else of the only loaded
 * object that defines it. 0 when there is none or more than one. */
int plugin_elf_nccl_version(const void *caller);

/* The first loaded object's function of that name, whatever its type: for those that moved between glibc's libraries.
 * NULL: none. */
typedef void plugin_function(void);
plugin_function *plugin_elf_function(const char *name);

/* dlopen, dlsym, dlclose and dlerror, wherever glibc has them. NULL, or a text for the last one, where it has none. */
void *plugin_elf_open(const char *name, int flags);
const void *plugin_elf_symbol(void *library, const char *name);
void plugin_elf_close(void *library);
const char *plugin_elf_error(void);

/* Keeps the loaded object that holds `address` until the end of the process, whoever unloads it. 0: it could not. */
int plugin_elf_stay(const void *address);
