"""What runs before the package exists: set-up, lock files, checks. Standard library only."""
