/* Small files and links under /sys. Every function takes a printf-like path. */
#ifndef PROBE_SYSFS_H
#define PROBE_SYSFS_H

#include "core/arena.h"

/* First line of the file without its newline; NULL when it cannot be read or is empty. */
char *sysfs_line(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The file's first line as a whole number; `otherwise` when it is none. */
long sysfs_int(long otherwise, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Last part of what the symbolic link points to: "br0"; NULL when there is no link. */
char *sysfs_link(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Address of the PCI function that the device behind the path is, or sits on (virtio, auxiliary bus); NULL: none. */
const char *sysfs_pci(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

int sysfs_exists(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
