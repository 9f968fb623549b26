#!/usr/bin/env bash
# Optimizes the models of a folder as an array of Slurm jobs, one shard each. The folders lie on a file system
# that all nodes share, and graphopt is on their PATH.
#
#   sbatch slurm.sh MODELS DIR [OPTIONS of graphopt batch]
#   sbatch --array=1-64 slurm.sh MODELS DIR      # 64 shards instead of 8
#
#SBATCH --job-name=graphopt
#SBATCH --array=1-8
#SBATCH --cpus-per-task=2
#SBATCH --mem=4G
#SBATCH --time=01:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=graphopt-%A_%a.log
set -euo pipefail
models=$1 out=$2
shift 2
# A shard that failed is run again by the whole array, not by --array=3 alone: the number of shards is that of
# the array, and what is up to date costs nothing.
exec graphopt batch "$models" -o "$out" --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" \
  --jobs "$SLURM_CPUS_PER_TASK" --memory-budget "$((SLURM_MEM_PER_NODE * 3 / 4))M" "$@"
