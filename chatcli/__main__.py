"""`python -m chatcli`."""

from chatcli.cli.main import main

main()
