"""What this machine makes of chatcli: times and memory, beside what the bare library needs."""
