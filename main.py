"""Start Embedding Inspector from a checkout: python main.py [FILE ...]."""

import sys

from inspector.cli import main

if __name__ == "__main__":
    sys.exit(main())
