# OpenMPI settings for a shell. Use: source this file before mpirun. What is set already stays;
# NCCLTUNE=off leaves everything alone.
# Written by nccltune 0.1.0. Evidence: decisions.json, or 'nccltune explain' on this directory.
# Measured on host memory with OpenMPI: an OpenMPI setting, not an NCCL result and not a statement
# about GPUs.
