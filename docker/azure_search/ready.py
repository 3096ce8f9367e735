"""Whether the stand-in that wrote the ready file, and no other, answers on its port.

`python ready.py FILE` ends with 0 if it does and 1 if not; the image's health check.
"""

import json
import sys
from http.client import HTTPConnection, HTTPException
from pathlib import Path


def answers(ready_file: Path) -> bool:
    """Ask the port in the file for its token and compare it with the file's."""
    try:
        told = json.loads(ready_file.read_text("utf-8"))
        connection = HTTPConnection("127.0.0.1", told["port"], timeout=5)
        connection.request("GET", "/healthz")
        answer = json.loads(connection.getresponse().read())
    except (OSError, HTTPException, ValueError):
        return False
    return bool(answer.get("token") == told["token"])


if __name__ == "__main__":
    raise SystemExit(0 if answers(Path(sys.argv[1])) else 1)
