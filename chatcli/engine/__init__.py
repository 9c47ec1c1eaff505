"""Tokens in, tokens out: the only package that knows llama.cpp."""
