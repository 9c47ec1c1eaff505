"""chatcli: the local ChatGPT of the terminal."""

__version__ = "0.1.0"
