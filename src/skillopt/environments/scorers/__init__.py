"""How an answer is compared with the accepted ones: one family of scorers a file."""
