"""Refusals of the program as exceptions."""

from __future__ import annotations

import json

from orrery._call import _orrery


class InputError(ValueError):
    """A question that has no answer; str() is what the program prints, with the place and a caret.

    `code`, `message`, `file`, `line`, `column`, `notes` and `help` are those of the first error; `diagnostics` are all,
    as the document `orrery.error` lists them.
    """

    def __init__(self, document: bytes | str, text: bytes | str = b""):
        super().__init__(document, text)
        self.document = document.decode(errors="replace") if isinstance(document, bytes) else document
        self.text = text.decode(errors="replace") if isinstance(text, bytes) else text
        self.diagnostics = json.loads(self.document)["diagnostics"]
        first = next((each for each in self.diagnostics if each["severity"] == "error"), self.diagnostics[0])
        self.code: str = first["code"]
        self.message: str = first["message"]
        self.file: str | None = first["file"]
        self.line: int | None = first["line"]
        self.column: int | None = first["column"]
        self.notes: list[str] = first["notes"]
        self.help: str = "\n".join(first["hints"])

    def __str__(self) -> str:
        return self.text.strip() or f"{self.code}: {self.message}"


_orrery.set_input_error(InputError)
