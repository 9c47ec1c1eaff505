"""The command line: one file for each command, and the tree that holds them."""
