"""KV state on disk: what was evaluated once is read back, by any session and any process."""
