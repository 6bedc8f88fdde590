"""What `tests/bench.py` is made of: processes that are measured, and the measurements that start them."""
