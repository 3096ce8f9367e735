"""Spellings of a tenant's name that must not pass for it: whoever bears one owns nothing."""

from __future__ import annotations

import unicodedata

LOOKALIKES = str.maketrans("aceopxy", "асеорху")  # noqa: RUF001 - Cyrillic on purpose


def spellings(name: str, other: str) -> list[str]:
    """Each once, the name itself left out; `other` is a second tenant, for names of both.

    Case, blanks, Unicode look-alikes, beginnings and wildcards, several names in one, and the
    name in the syntax of query languages, templates and paths.
    """
    stem = name[:-1]
    found = [
        name.upper(), name.lower(), name.title(), name.swapcase(),
        f"{name} ", f" {name}", f"{name}\t", f"{name}\n", f"{name}\N{NO-BREAK SPACE}",
        f"{name}\N{ZERO WIDTH SPACE}", name.translate(LOOKALIKES),
        unicodedata.normalize("NFD", name), _full_width(name),
        stem, f"{name}1", f"{name}-corp", f"{name}.", f"{stem}%", f"{stem}_", f"{stem}*",
        f"{stem}?", f"{stem}.*", f"/{stem}./",
        f"{name},{other}", f"{name}|{other}", f"{name} {other}", f"{name} OR {other}",
        f"{name};{other}",
        f"{name}' OR '1'='1", f'{name}" OR "1"="1', f"{name}') or ('1'='1", f"x' or '{name}",
        f"{name}' or tenant ne '", f"{name}--", f"{name}\\", f"'{name}'", f'"{name}"',
        f"../{name}", f"{other}/../{name}", f"{name}/", f"{name}#", f"{name}?", f"{name}&k=100",
        f"{name}\0", f"{name}%00", f"%{ord(name[:1] or 'x'):02x}{name[1:]}", f"{{{{{name}}}}}",
        "*", "%", ".*", "[* TO *]", '{"match_all":{}}', '{"$ne": ""}', "null", "None", "undefined",
        "all", "default", "public", "admin",
    ]  # fmt: skip
    return [one for one in dict.fromkeys(found) if one and one != name]


def _full_width(name: str) -> str:
    """The first character as its full-width form, which compatibility forms fold back."""
    first = name[:1]
    return chr(ord(first) + 0xFEE0) + name[1:] if "!" <= first <= "~" else name
