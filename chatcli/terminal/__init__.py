"""What the user sees and types: streams, rendering, the prompt."""
