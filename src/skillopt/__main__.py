"""`python -m skillopt`: the same as `skillopt`, where the command is not on the path."""

from skillopt.cli.main import main

main()
