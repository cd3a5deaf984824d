"""``python -m wenyuan.cli``."""

from wenyuan.cli import main

if __name__ == "__main__":
    main()
