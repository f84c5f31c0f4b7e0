"""What array libraries lack, on NumPy and torch alike."""
