"""`python3 -m bot`, and the console script `inglenook`.

This file parses and runs under any Python 3, so that an old one gets a sentence instead of
a traceback; everything behind the check is free to use 3.11.
"""

import sys

OLDEST = (3, 11)


def main() -> int:
    """Run one command; return its exit code, 2 when this Python is too old."""
    if sys.version_info < OLDEST:
        have = ".".join(str(part) for part in sys.version_info[:3])
        sys.stderr.write(
            "Inglenook needs Python 3.11 or newer; this is %s (%s).\n" % (have, sys.executable)  # noqa: UP031 - old Pythons read this line
        )
        return 2
    from bot import bootstrap  # noqa: PLC0415 - its syntax is newer than the check above

    return bootstrap.main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
