"""The stages of a fit, from drawn rows to the rounds."""
