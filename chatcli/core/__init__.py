"""The vocabulary of the program: values and ports. Standard library only, no I/O."""
