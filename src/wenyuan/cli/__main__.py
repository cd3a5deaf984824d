"""``python -m wenyuan.cli``."""

from wenyuan.cli.entry import main

if __name__ == "__main__":
    main()
