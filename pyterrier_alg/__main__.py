"""`python -m pyterrier_alg`: the command line."""

from pyterrier_alg.cli import main

if __name__ == "__main__":
    main()
