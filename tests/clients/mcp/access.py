"""A token of a back end."""

import subprocess


def service_token(hansard, environment):
    """A token of a back end of the demo tenant."""
    command = [hansard, "token", "create", "--name", "mcp-check", "--tenant", "demo", "--scope", "read", "--scope", "append"]
    made = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return made.stdout.strip().split()[-1]
