/* The NCCL or RCCL that jobs of this environment load, PyTorch's above all, which is not always the system's. */
#ifndef CORE_NCCL_LIBRARY_H
#define CORE_NCCL_LIBRARY_H

/* A handle of dlopen's for libnccl.so.2 or librccl.so.1; NULL: none was found. */
void *nccl_library_open(void);

#endif
