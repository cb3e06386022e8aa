"""What asv tracks over commits. asv imports every module here, and commits older than an import skip its benchmarks."""
