"""Answers: the program's documents as objects that show themselves in a notebook."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

from orrery._call import Answer, call


class Fields(Mapping):
    """An object of a document: its fields by attribute or by name."""

    def __init__(self, data: dict[str, Any]):
        self._data = data

    def __getitem__(self, name: str) -> Any:
        return wrapped(self._data[name])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._data:
            raise AttributeError(f"there is no field `{name}`; there are: {', '.join(self._data)}")
        return wrapped(self._data[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(name for name in self._data if name.isidentifier())]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={_short(v)}' for k, v in self._data.items())})"

    def __eq__(self, other: object) -> bool:
        return self._data == (other._data if isinstance(other, Fields) else other)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return type(self), (self._data,)

    def to_dict(self) -> dict[str, Any]:
        """The object as a dictionary."""
        return self._data


def wrapped(value: Any) -> Any:
    if isinstance(value, dict):
        return Fields(value)
    if isinstance(value, list):
        return [wrapped(each) for each in value]
    return value


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return "{...}" if value else "{}"
    if isinstance(value, list):
        return f"[{len(value)}]"
    return repr(value)


class Row(Fields):
    """A row of an answer, such as a layer, that can be asked about further."""

    def __init__(self, data: dict[str, Any], of: Result):
        super().__init__(data)
        self._of = of

    def __reduce__(self) -> Any:
        return type(self), (self._data, self._of)

    def why(self, choice: str) -> Fields:
        """What it costs to force `choice`, such as "Scratchpad.E=4" (`--why`)."""
        return self._of._why(self._data["name"], choice)


#: What a document calls its rows, those that say most first.
_ROWS = (
    "layers",
    "points",
    "configurations",
    "components",
    "runs",
    "top",
    "rows",
    "entries",
    "sets",
    "operators",
    "cases",
    "masks",
    "files",
)

#: Other names of figures: where they lie in `result`.
_ALIASES = {
    "orrery.train": {
        "time_s": ("iteration_s",),
        "cost_usd": ("cost", "usd"),
        "expected_error": ("expected_error_percent",),
    }
}


class Result:
    """An answer of a verb.

    Its fields are those of the document: of `result` first, then of the whole; rows are found by their names:
    `best["KTQ"]`. `code` is the exit code: 0, 1 where the answer is no, 3 at a limit, 130 after Ctrl-C.
    """

    def __init__(self, answer: Answer, words: list[str], again: Callable[..., Result] | None = None):
        self.code, self.words = answer.code, words
        self._text, self.remarks, self._again = answer.out, answer.err, again

    @cached_property
    def data(self) -> Any:
        """The document."""
        try:
            return json.loads(self._text)
        except json.JSONDecodeError:
            if not self._text.startswith("{"):
                raise ValueError(f"`orrery {' '.join(self.words)}` prints no document; see `text`") from None
            return [json.loads(line) for line in self._text.splitlines()]

    @property
    def text(self) -> str:
        """What the program printed."""
        return self._text

    @property
    def interrupted(self) -> bool:
        return self.code == 130

    def to_json(self) -> str:
        """The program's document, byte for byte."""
        return self._text

    def to_dict(self) -> Any:
        """The document as dictionaries and lists."""
        return self.data

    @property
    def _result(self) -> dict[str, Any]:
        found = self.data.get("result") if isinstance(self.data, dict) else None
        return found if isinstance(found, dict) else {}

    @property
    def _kind(self) -> str:
        return str(self.data.get("schema", "")).split("/")[0] if isinstance(self.data, dict) else ""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        alias = _ALIASES.get(self._kind, {}).get(name)
        if alias:
            value: Any = self._result
            for step in alias:
                value = value[step]
            return wrapped(value)
        for place in (self._result, self.data if isinstance(self.data, dict) else {}):
            if name in place:
                return wrapped(place[name])
        raise AttributeError(f"the answer has no `{name}`; it has: {', '.join([*self._result, *self.data])}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._result, *_ALIASES.get(self._kind, {})]

    @cached_property
    def rows(self) -> list[Row]:
        """What the answer lists: layers, points, components."""
        if isinstance(self.data, list):
            return [Row(each, self) for each in self.data]
        for name in _ROWS:
            found = self._result.get(name)
            if isinstance(found, list) and all(isinstance(each, dict) for each in found):
                return [Row(each, self) for each in found]
        return [Row(self._result, self)] if self._result else []

    def __getitem__(self, name: str | int) -> Any:
        if isinstance(name, int):
            return self.rows[name]
        for row in self.rows:
            if row.get("name") == name:
                return row
        if name in self._result:
            return wrapped(self._result[name])
        known = [str(row["name"]) for row in self.rows if "name" in row]
        raise KeyError(f"there is no `{name}`; there are: {', '.join(known or self._result)}")

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Result) and self._text == other._text and self.code == other.code

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return Result, (Answer(self.code, self._text, self.remarks), self.words)

    def __repr__(self) -> str:
        return f"<orrery {' '.join(self.words[:6])}{' ...' if len(self.words) > 6 else ''}: {len(self.rows)} rows>"

    def _why(self, row: str, choice: str) -> Fields:
        if self._again is None:
            raise ValueError("this answer does not know its question any more; ask the verb with `why`")
        forced = self._again(layer=row, why=choice)[row]
        return forced.get("why") or forced

    def trace(self, path: str) -> None:
        """Writes the pipeline of a training run's iteration, for Perfetto (`--trace`)."""
        if self._again is None:
            raise ValueError("this answer does not know its question any more; ask the verb with `trace`")
        self._again(trace=path, force=True)

    # Tables.

    def to_rows(self) -> list[dict[str, Any]]:
        """The rows with what lies below them joined by dots: {"name": ..., "certificate.gap": ...}; no lists."""
        return [_flat(row.to_dict()) for row in self.rows]

    def to_pandas(self) -> Any:
        """The rows as a DataFrame of pandas."""
        import pandas  # type: ignore

        return pandas.DataFrame(self.to_rows())

    def to_arrow(self) -> Any:
        """The rows as a table of pyarrow."""
        import pyarrow  # type: ignore

        return pyarrow.Table.from_pylist(_even(self.to_rows()))

    # Pictures.

    def _chart(self, *options: str) -> str:
        import tempfile

        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            file.write(self._text.encode(errors="surrogateescape"))
            file.flush()
            answer = call(["chart", file.name, *options])
        return answer.out if answer.code == 0 else ""

    @cached_property
    def charts(self) -> list[str]:
        """Names of its charts; the first says most."""
        listed = self._chart("--json")
        return [each["name"] for each in json.loads(listed)["result"]["charts"]] if listed else []

    def vega(self, name: str | None = None) -> dict[str, Any]:
        """A chart as a Vega 5 specification (`orrery chart`)."""
        chosen = name or (self.charts[0] if self.charts else "")
        text = self._chart("--name", chosen) if chosen else ""
        if not text:
            raise KeyError(f"there is no chart `{name}`; there are: {', '.join(self.charts) or 'none'}")
        return json.loads(text)

    def plot(self, name: str | None = None) -> Any:
        """A chart as a Vega 5 specification, which JupyterLab and VS Code draw without a package."""
        return Chart(self.vega(name))

    def _repr_html_(self) -> str:
        import html

        rows = self.to_rows()[:100]
        shown = [name for name in _columns(rows)][:12]
        out = ["<table><thead><tr>", *(f"<th>{html.escape(name)}</th>" for name in shown), "</tr></thead><tbody>"]
        for row in rows:
            cells = (f"<td>{html.escape(_cell(row.get(name)))}</td>" for name in shown)
            out += ["<tr>", *cells, "</tr>"]
        return "".join([*out, "</tbody></table>"])

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        bundle: dict[str, Any] = {"text/plain": repr(self)}
        if isinstance(self.data, dict) and self._result:
            bundle["text/html"] = self._repr_html_()
            if self.charts:
                bundle["application/vnd.vega.v5+json"] = self.vega()
        return bundle


class Chart:
    """A Vega specification that a notebook draws; `spec` is the dictionary."""

    def __init__(self, spec: dict[str, Any]):
        self.spec = spec

    def to_dict(self) -> dict[str, Any]:
        """The specification."""
        return self.spec

    def save(self, path: str) -> None:
        """As .json, the specification; as .svg or .png, a picture, where vl-convert-python is installed."""
        suffix = str(path).rsplit(".", 1)[-1]
        if suffix in ("svg", "png"):
            import vl_convert  # type: ignore

            picture = vl_convert.vega_to_svg(self.spec) if suffix == "svg" else vl_convert.vega_to_png(self.spec)
            content = picture.encode() if isinstance(picture, str) else picture
        elif suffix == "json":
            content = json.dumps(self.spec, indent=1).encode()
        else:
            raise ValueError(f"save: path: a name that ends in .json, .svg or .png is expected, not {path}")
        with open(path, "wb") as file:
            file.write(content)

    def __repr__(self) -> str:
        return "<a Vega chart>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {"application/vnd.vega.v5+json": self.spec, "text/plain": repr(self)}


def _flat(row: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            out.update(_flat(value, f"{prefix}{name}."))
        elif not isinstance(value, list):
            out[prefix + name] = value
    return out


def _columns(rows: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _even(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every row with every column: Arrow takes those of the first; whole numbers beside others are others."""
    names = _columns(rows)
    real = {name for name in names if any(isinstance(row.get(name), float) for row in rows)}
    return [
        {
            name: float(value) if name in real and isinstance(value := row.get(name), int) else row.get(name)
            for name in names
        }
        for row in rows
    ]


def _cell(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return "" if value is None else str(value).lower()
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
