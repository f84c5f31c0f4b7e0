"""Files from strangers, read in a process of their own."""
