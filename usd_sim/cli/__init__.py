"""The command line ``usd-sim``: parse, call, print. One module per command."""
