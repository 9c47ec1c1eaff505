"""The set-up: an environment, pinned packages and a native llama-cpp-python that runs here."""
