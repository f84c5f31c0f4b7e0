"""Progress, callbacks and interrupts of a running fit."""
