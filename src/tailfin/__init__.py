"""RocketMQ in Python on a Rust engine: the same wire protocol, the same files on disk.

Python decides, the engine moves bytes. Start with `tailfin.store.Store`, the log store as an embedded
library; docs/architecture.md says how the parts hang together.
"""

__version__ = "0.1.0"  # Cargo.toml's; tests/unit/test_version.py compares the two
