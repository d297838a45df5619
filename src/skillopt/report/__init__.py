"""Looking at a run: its course as a table, pictures and pages. Everything here reads; nothing can change a run."""
