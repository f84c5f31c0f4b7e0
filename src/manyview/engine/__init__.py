"""Where blocks of rows live and how a pass over them runs."""
