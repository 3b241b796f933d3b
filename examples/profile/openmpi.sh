# OpenMPI settings for a shell. Use: source this file before mpirun. What is set already stays;
# NCCLTUNE=off leaves everything alone.
# Written by nccltune 0.1.0. Evidence: decisions.json, or 'nccltune explain' on this directory.
# Measured on host memory with OpenMPI: an OpenMPI setting, not an NCCL result and not a statement
# about GPUs.

# btl_tcp_if_include (measured on host memory): Open MPI 4.1.4, 4 nodes, 4 ranks: ib3 is 4.84x (1.21
# to 19.42) over the library as it comes, over 4 pairs of sessions.
if [ "${NCCLTUNE:-}" != off ] && [ -z "${OMPI_MCA_btl_tcp_if_include+set}${OMPI_MCA_btl_tcp_if_exclude+set}" ]; then
    export OMPI_MCA_btl_tcp_if_include='ib3'
fi

# coll_tuned_use_dynamic_rules is not set: no algorithm beats OpenMPI's own choice, so openmpi.rules
# is empty.

# coll_tuned_dynamic_rules_filename is not set: no algorithm beats OpenMPI's own choice, so
# openmpi.rules is empty.
