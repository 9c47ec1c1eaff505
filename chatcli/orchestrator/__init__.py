"""One turn, from question to answer, and the conversation made of turns."""
