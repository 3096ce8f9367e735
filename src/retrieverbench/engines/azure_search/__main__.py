"""`python -m retrieverbench.engines.azure_search --ready-file F`: the stand-in as a process."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from retrieverbench.engines.azure_search.access import make_credentials
from retrieverbench.engines.azure_search.server import serve
from retrieverbench.engines.azure_search.service import Service
from retrieverbench.engines.azure_search.store import Options
from retrieverbench.errors import InputError
from retrieverbench.options import parse_options


def main() -> None:
    """Serve on a free port of loopback until ended; keys and port are in the ready file."""
    parser = argparse.ArgumentParser(
        prog="python -m retrieverbench.engines.azure_search",
        description="A stand-in for Azure AI Search on loopback. It is not the service.",
    )
    parser.add_argument("--ready-file", type=Path, required=True, metavar="F")
    parser.add_argument("--options-file", type=Path, metavar="F", help="JSON object of options")
    parser.add_argument("--host", default="127.0.0.1", help="a loopback address")
    given = parser.parse_args()
    try:
        raw = json.loads(given.options_file.read_text("utf-8")) if given.options_file else {}
        options = parse_options(Options, raw, "azure_search stand-in")
        service = Service(make_credentials(), options)
        serve(service, given.host, given.ready_file)
    except (InputError, OSError, ValueError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
