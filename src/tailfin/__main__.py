"""`python -m tailfin`."""

import sys

from tailfin.cli import main

sys.exit(main())
