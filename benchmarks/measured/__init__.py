"""What `benchmarks/bench.py` measures, part by part."""
