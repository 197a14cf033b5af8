"""What scripts/subjects and scripts/bench share: the subjects, their sources, toolchains, builds and workloads."""
