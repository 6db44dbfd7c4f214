"""The language of predicates: text such as `price < 10 and side == 'buy'` -> a tree. Nothing is ever evaluated as code.

Python's own grammar is used (`ast`), and of it an allow-list; everything else is refused with the place and what would
be right. `engine.three_valued` works the tree out over columns.
"""

from __future__ import annotations

import ast
import re
import warnings
from typing import NamedTuple

from windrow.engine.choices import Choices
from windrow.errors import WindrowError, brief

ALLOWED = (
    "a predicate is made of columns, numbers, text, True, False, None, + - * / // %, comparisons, and, or, not, "
    'in (...), is None, is not None, parentheses, abs(...) and col("a name of any kind")'
)
DEEPEST = 200


class Node(NamedTuple):
    """One operation. `kind` is column, literal, and, or, not, null, abs, negative, in, or an operator of two parts."""

    kind: str
    parts: tuple[Node, ...]
    value: object  # a column's name, a literal's value, the `Choices` of an `in`
    start: int  # where it stands in the text
    end: int


_ARITHMETIC = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%"}
_COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_REFUSED = {
    ast.Pow: "`**` is not allowed",
    ast.MatMult: "`@` is not allowed",
    ast.BitAnd: "`&` is not allowed: write `and`",
    ast.BitOr: "`|` is not allowed: write `or`",
    ast.BitXor: "`^` is not allowed",
    ast.LShift: "`<<` is not allowed",
    ast.RShift: "`>>` is not allowed",
    ast.Invert: "`~` is not allowed: write `not`",
    ast.Attribute: "`.` is not allowed: a column whose name has a dot stands in backquotes",
    ast.Subscript: '`[...]` is not allowed: col("name") is a column',
    ast.Lambda: "a function is given as itself, not as text",
    ast.JoinedStr: "f-strings are not allowed",
    ast.IfExp: "`if` is not allowed",
    ast.NamedExpr: "`:=` is not allowed",
}
_SYNTAX = [  # what people write who think of another language
    (re.compile(r"(?<![<>=!])=(?!=)"), "equality is written =="),
    (re.compile(r"&&|\bAND\b"), "write `and`"),
    (re.compile(r"\|\||\bOR\b"), "write `or`"),
    (re.compile(r"!(?!=)|\bNOT\b"), "write `not`"),
    (re.compile(r"<>"), "write !="),
]


def parse(text: str) -> Node:
    """The tree of an expression; `WindrowError` points at what is not allowed.

    >>> parse("price < 10").kind
    '<'
    >>> parse("1 < price ** 2")
    Traceback (most recent call last):
    windrow.errors.WindrowError: predicate '1 < price ** 2', at character 5, 'price ** 2': `**` is not allowed; a pr...
    """
    return _Parser(text).tree()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.odd: dict[str, str] = {}  # stand-ins for names in backquotes
        self.source = self._stand_ins(re.sub(r"[\r\n\t\f]", " ", text))
        #: by byte, the character that it belongs to; None: each character is one byte
        self.characters = None if self.source.isascii() else _characters(self.source)

    def tree(self) -> Node:
        blanks = len(self.source) - len(self.source.lstrip())
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of escapes in texts
                body = ast.parse(self.source[blanks:], mode="eval").body
        except (RecursionError, MemoryError):
            raise self._refused("it is nested too deeply", 0, len(self.text)) from None
        except UnicodeEncodeError as error:
            why = f"half of a surrogate pair is no character; in a text, write {error.object[error.start]!r}"
            raise self._refused(why, blanks + error.start, blanks + error.end) from None
        except (SyntaxError, ValueError) as error:
            at = blanks + max((getattr(error, "offset", None) or 1) - 1, 0)
            raise self._refused(self._advice(error), at, len(self.text)) from None
        self.blanks = blanks
        return self.node(body, 0)

    def node(self, node: ast.expr, depth: int) -> Node:
        start, end = self._span(node)
        if depth > DEEPEST:
            raise self._refused("it is nested too deeply", start, end)

        def made(kind: str, *parts: ast.expr) -> Node:
            return Node(kind, tuple(self.node(part, depth + 1) for part in parts), None, start, end)

        match node:
            case ast.Name():
                name = self.source[start:end]
                return Node("column", (), self.odd.get(name, name), start, end)
            case ast.Constant(value=value):
                if not isinstance(value, (int, float, str, type(None))):  # bool is an int
                    raise self._refused(f"{type(value).__name__} literals are not allowed", start, end)
                return Node("literal", (), value, start, end)
            case ast.BoolOp():
                return made("and" if isinstance(node.op, ast.And) else "or", *node.values)
            case ast.UnaryOp(op=ast.Not()):
                return made("not", node.operand)
            case ast.UnaryOp(op=ast.USub()):
                return made("negative", node.operand)
            case ast.UnaryOp(op=ast.UAdd()):
                return self.node(node.operand, depth + 1)
            case ast.BinOp() if type(node.op) in _ARITHMETIC:
                return made(_ARITHMETIC[type(node.op)], node.left, node.right)
            case ast.BinOp() | ast.UnaryOp():
                raise self._refused(_REFUSED[type(node.op)], start, end)
            case ast.Compare():
                return self._comparison(node, depth)
            case ast.Call():
                return self._call(node, depth)
        why = _REFUSED.get(type(node), f"{type(node).__name__} is not allowed")
        raise self._refused(why, start, end)

    def _comparison(self, node: ast.Compare, depth: int) -> Node:
        """a < b < c is a < b and b < c."""
        start, end = self._span(node)
        links = []
        left = node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            span = self._span(left)[0], self._span(right)[1]
            links.append(self._link(left, op, right, span, depth + 1))
            left = right
        return links[0] if len(links) == 1 else Node("and", tuple(links), None, start, end)

    def _link(self, left: ast.expr, op: ast.cmpop, right: ast.expr, span: tuple[int, int], depth: int) -> Node:
        none = isinstance(right, ast.Constant) and right.value is None
        older = self.node(left, depth)
        if isinstance(op, (ast.Is, ast.IsNot)):
            if not none:
                raise self._refused("`is` goes with None only: write `is None`, or ==", *span)
            found = Node("null", (older,), None, *span)
            return found if isinstance(op, ast.Is) else Node("not", (found,), None, *span)
        if isinstance(op, (ast.In, ast.NotIn)):
            if not isinstance(right, (ast.Tuple, ast.List, ast.Set)):
                raise self._refused("`in` goes with literals in parentheses, such as in ('a', 'b')", *span)
            found = Node("literal", (), False, *span)
            if right.elts:
                found = Node("in", (older,), Choices.of(map(self._literal, right.elts)), *span)
            return found if isinstance(op, ast.In) else Node("not", (found,), None, *span)
        if none or (isinstance(left, ast.Constant) and left.value is None):
            raise self._refused("nothing compares with None: write `is None` or `is not None`", *span)
        return Node(_COMPARISONS[type(op)], (older, self.node(right, depth)), None, *span)

    def _literal(self, node: ast.expr) -> object:
        """One of an `in`. The sign is no part of a literal in Python's grammar."""
        signs, inner = 0, node
        while isinstance(inner, ast.UnaryOp) and isinstance(inner.op, (ast.USub, ast.UAdd)):
            signs += isinstance(inner.op, ast.USub)
            inner = inner.operand
        value = inner.value if isinstance(inner, ast.Constant) else ...
        if value is None or (inner is node and isinstance(value, (int, float, str))):
            return value
        if not isinstance(value, (int, float)):
            raise self._refused("`in` goes with literals only", *self._span(node))
        return -value if signs % 2 else +value

    def _call(self, node: ast.Call, depth: int) -> Node:
        start, end = self._span(node)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        only = node.args[0] if len(node.args) == 1 and not node.keywords else None
        if name == "abs" and only is not None:
            return Node("abs", (self.node(only, depth + 1),), None, start, end)
        if name == "col" and isinstance(only, ast.Constant) and isinstance(only.value, str):
            return Node("column", (), only.value, start, end)
        raise self._refused('the only functions are abs(number) and col("name")', start, end)

    def _stand_ins(self, text: str) -> str:
        """`odd names` in backquotes become identifiers of the same length, so that places stay what they are."""
        pieces, at, code = [], 0, 0x4E00
        for found in re.finditer(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|`([^`]+)`", text):
            if found[1] is not None:
                while chr(code) in text:
                    code += 1
                name = chr(code) + "_" * (len(found[0]) - 1)
                code += 1
                self.odd[name] = found[1]
                pieces += [text[at : found.start()], name]
                at = found.end()
        return "".join([*pieces, text[at:]])

    def _span(self, node: ast.expr) -> tuple[int, int]:
        """ast counts bytes."""
        lead = len(self.source[: self.blanks].encode())
        start, end = lead + node.col_offset, lead + (node.end_col_offset or node.col_offset)
        return (start, end) if self.characters is None else (self.characters[start], self.characters[end])

    def _advice(self, error: Exception) -> str:
        for pattern, advice in _SYNTAX:
            if pattern.search(re.sub(r"'[^']*'|\"[^\"]*\"", "''", self.source)):
                return advice
        if re.fullmatch(r"\s*[^\W\d]\w*([ .-]+\w+)+\s*", self.source):
            return "it is no expression; a column's name with blanks or signs in it stands in backquotes"
        return str(getattr(error, "msg", error))

    def _refused(self, why: str, start: int, end: int) -> WindrowError:
        place = self.text[start:end].strip()
        where = f", at character {start + 1}, {brief(place)!r}" if place and place != self.text.strip() else ""
        return WindrowError(f"predicate {brief(self.text)!r}{where}: {why}; {ALLOWED}")


def _characters(text: str) -> list[int]:
    """
    >>> _characters("aé")
    [0, 1, 1, 2]
    """
    places = [place for place, character in enumerate(text) for _ in character.encode(errors="surrogatepass")]
    return [*places, len(text)]
