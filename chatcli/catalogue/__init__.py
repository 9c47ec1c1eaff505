"""Models: what is known, what is here, and how it comes here.

Knows names, sources, files and checksums. Knows nothing of llama.cpp, prints nothing, and
asks nothing: what happens is said through the callbacks `say` and `progress`.
"""
