"""What the command shows beside its own words."""

from __future__ import annotations

import subprocess
import sys


def test_log_lines_of_libraries_are_no_output() -> None:
    """As psycopg's pool warns of every refused connection."""
    program = (
        "import logging, sys, click\n"
        "from retrieverbench.cli import main\n"
        "from retrieverbench.cli.main import command\n"
        "@command.command()\n"
        "def noisy():\n"
        "    logging.getLogger('psycopg.pool').warning('error connecting')\n"
        "    click.echo('done')\n"
        "sys.argv = ['retrieverbench', 'noisy']\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("done\n", "")
