"""``python -m usd_sim`` is ``usd-sim``."""

import sys

from usd_sim.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
