"""The language of predicates, conditions and inputs: text such as `price < 10 and side = 'buy'` -> a tree.

It is SQL's language of expressions, with Python's spellings beside (`==`, `is None`). Nothing is evaluated as code: the
text is read by the grammar below, everything else is refused with the place and what would be right.
`engine.three_valued` works the tree out over columns.

    either     = both {"or" both}                   both   = negated {"and" negated}
    negated    = "not" negated | compared
    compared   = sum {comparison sum | ["not"] "in" "(" literals ")" | ["not"] "between" sum "and" sum
                      | "is" ["not"] "null"}
    sum        = term {("+" | "-") term}            term   = signed {("*" | "/" | "//" | "%") signed}
    signed     = ("-" | "+") signed | a literal, a column, a function, a case, or "(" either ")"
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import NamedTuple, NoReturn

from windrow.aggregates.values import Expression
from windrow.engine.choices import Choices
from windrow.errors import WindrowError, brief

#: functions: how many arguments they take, at least and at most
FUNCTIONS = {
    "abs": (1, 1), "coalesce": (1, 100), "least": (2, 100), "greatest": (2, 100), "lower": (1, 1), "upper": (1, 1),
    "length": (1, 1),
}  # fmt: skip
ALLOWED = (
    "an expression is made of columns (`odd names` in backquotes), numbers, 'text', true, false, null, + - * / // %, "
    "comparisons, and, or, not, in (...), between ... and ..., is null, case when ... then ... end, "
    f"{', '.join(FUNCTIONS)} and col('name')"
)
DEEPEST = 200
#: operations in one expression; literals of an `in` do not count
MOST = 500
LONGEST = 10_000_000


class Node(NamedTuple):
    """One operation: column, literal, and, or, not, null, negative, in, a function, or an operator of two parts.

    The parts of a `case` are condition, value, condition, value, ..., the value otherwise.
    """

    kind: str
    parts: tuple[Node, ...]
    value: object  # a column's name, a literal's value, the `Choices` of an `in`
    start: int  # where it stands in the text
    end: int


class Token(NamedTuple):
    kind: str  # name, quoted, number, text, sign, end
    text: str
    start: int
    end: int


_TOKEN = re.compile(
    r"""\s*(?:(?P<name>[^\W\d]\w*)|`(?P<quoted>[^`]+)`
    |(?P<number>(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?)
    |(?P<text>'(?:\\.|''|[^'\\])*'|"(?:\\.|""|[^"\\])*")
    |(?P<sign>\*\*|//|<=|>=|==|!=|<>|:=|&&|\|\||<<|>>|[-+*/%<>=(),\[\]{}.:;&|^~!@])
    |(?P<end>\Z))""",
    re.VERBOSE | re.DOTALL,
)
_COMPARISONS = {s: s for s in ("<", "<=", ">", ">=", "==", "!=")} | {"=": "==", "<>": "!="}
_LITERALS = {"true": True, "false": False, "null": None, "None": None}
#: words that have a meaning wherever they stand
_WORDS = {"and", "or", "not", "in", "is", "between", *_LITERALS}
_REFUSED = {
    "**": "`**` is not allowed",
    "@": "`@` is not allowed",
    "&": "`&` is not allowed: write `and`",
    "&&": "`&&` is not allowed: write `and`",
    "|": "`|` is not allowed: write `or`",
    "||": "`||` is not allowed: write `or`",
    "^": "`^` is not allowed",
    "<<": "`<<` is not allowed",
    ">>": "`>>` is not allowed",
    "~": "`~` is not allowed: write `not`",
    "!": "`!` is not allowed: write `not`",
    ".": "`.` is not allowed: a column whose name has a dot stands in backquotes",
    "[": "`[...]` is not allowed: col('name') is a column",
    ":=": "`:=` is not allowed",
    "lambda": "a function is given as itself, not as text",
    "if": "`if` is not allowed: write case when ... then ... else ... end",
    "for": "`for` is not allowed",
}


def expr(text: str) -> Expression:
    """An expression, wherever an aggregate takes a column: `agg.sum(windrow.expr("price * volume"))`.

    >>> expr("price * volume")
    Expression('price * volume')
    """
    if not isinstance(text, str):
        raise WindrowError(f"windrow.expr takes a text such as 'price * volume', not {text!r}")
    parse(text)
    return Expression(text.strip())


def parse(text: str) -> Node:
    """The tree of an expression; `WindrowError` points at what is not allowed.

    >>> parse("price < 10").kind
    '<'
    >>> parse("1 < price ** 2")
    Traceback (most recent call last):
    windrow.errors.WindrowError: expression '1 < price ** 2', at character 11, '** 2': `**` is not allowed; an expre...
    """
    return _Parser(text).tree()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.nodes = 0
        if len(text) > LONGEST:
            raise WindrowError(f"an expression of {len(text):,} characters is too long: at most {LONGEST:,}")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            half = error.object[error.start]
            self._refuse(f"half of a surrogate pair is no character; in a text, write {half!r}", error.start, error.end)
        self.now = self._token(0)

    def tree(self) -> Node:
        found = self.either(0)
        if self.now.kind != "end":
            self._stuck()
        return found

    # Tokens.

    def _token(self, at: int) -> Token:
        found = _TOKEN.match(self.text, at)
        if found is None:
            place = at + len(self.text[at:]) - len(self.text[at:].lstrip())
            what = "a text or a name never ends" if self.text[place] in "'\"`" else "no such sign is allowed"
            self._refuse(what, place, len(self.text))
        kind = found.lastgroup or "end"
        start = found.start(kind) - (kind == "quoted")
        return Token(kind, found[kind], start, found.end())

    def _next(self) -> Token:
        was = self.now
        self.now = self._token(was.end)
        return was

    def _word(self, *words: str) -> str | None:
        """The word that stands here, where it is one of these."""
        found = self.now.text if self.now.text == "None" else self.now.text.lower()
        found = found if self.now.kind == "name" else ""
        return found if found in words else None

    def _sign(self, *signs: str) -> str | None:
        return self.now.text if self.now.kind == "sign" and self.now.text in signs else None

    def _take(self, what: str) -> Token:
        if self._sign(what) or self._word(what):
            return self._next()
        if self.now.kind == "end":
            self._refuse(f"`{what}` is missing at the end", 0, len(self.text))
        self._stuck(f"`{what}` is missing here")

    def _stuck(self, why: str = "invalid syntax") -> NoReturn:
        """What stands here has no place here."""
        now = self.now
        known = _REFUSED.get(now.text.lower() if now.kind == "name" else now.text) if now.kind != "text" else None
        if known is None and now.kind == "end":
            known = "it ends too early"
        if known is None and now.kind in ("name", "quoted") and why == "invalid syntax":
            known = "it is no expression here; a column's name with blanks or signs in it stands in backquotes"
        self._refuse(known or why, now.start, len(self.text))

    def _refuse(self, why: str, start: int, end: int) -> NoReturn:
        place = self.text[start:end].strip()
        where = f", at character {start + 1}, {brief(place)!r}" if place and place != self.text.strip() else ""
        raise WindrowError(f"expression {brief(self.text)!r}{where}: {why}; {ALLOWED}")

    def _node(
        self, kind: str, parts: tuple[Node, ...], start: int, value: object = None, end: int | None = None
    ) -> Node:
        self.nodes += 1
        if self.nodes > MOST:
            self._refuse(f"it has more than {MOST:,} operations", start, len(self.text))
        last = parts[-1].end if parts else start
        return Node(kind, parts, value, start, last if end is None else end)

    def _deeper(self, depth: int) -> int:
        if depth >= DEEPEST:
            self._refuse("it is nested too deeply", self.now.start, len(self.text))
        return depth + 1

    # The grammar, the loosest first. `depth` is that of the tree: chains of operators lean to the left, and count.

    def either(self, depth: int) -> Node:
        return self._chain("or", self.both, depth)

    def both(self, depth: int) -> Node:
        return self._chain("and", self.negated, depth)

    def _chain(self, word: str, inner: Callable[[int], Node], depth: int) -> Node:
        deeper = self._deeper(depth)
        parts = [inner(deeper)]
        while self._word(word):
            self._next()
            parts.append(inner(deeper))
        return parts[0] if len(parts) == 1 else self._node(word, tuple(parts), parts[0].start)

    def negated(self, depth: int) -> Node:
        start = self.now.start
        if self._word("not"):
            self._next()
            return self._node("not", (self.negated(self._deeper(depth)),), start)
        return self.compared(depth)

    def compared(self, depth: int) -> Node:
        """a < b < c is a < b and b < c."""
        deeper = self._deeper(depth)
        left = self.sum(deeper)
        links: list[Node] = []
        while True:
            start = left.start
            if sign := self._sign(*_COMPARISONS):
                self._next()
                right = self.sum(deeper)
                if any(part.kind == "literal" and part.value is None for part in (left, right)):
                    self._refuse("nothing compares with null: write `is null` or `is not null`", start, right.end)
                links.append(self._node(_COMPARISONS[sign], (left, right), start))
                left = right
                continue
            turned = bool(self._word("not"))
            if turned:
                self._next()
            if self._word("in"):
                self._next()
                found = self._among(left)
            elif self._word("between"):
                self._next()
                low = self.sum(deeper)
                self._take("and")
                high = self.sum(deeper)
                limits = self._node(">=", (left, low), start, end=low.end), self._node("<=", (left, high), start)
                found = self._node("and", limits, start)
            elif not turned and self._word("is"):
                self._next()
                turned = bool(self._word("not"))
                if turned:
                    self._next()
                if not self._word("null", "None"):
                    self._stuck("`is` goes with null only: write `is null`, or =")
                found = self._node("null", (left,), start, end=self._next().end)
            elif turned:
                self._stuck("`not` stands before a condition, or before `in` and `between`")
            else:
                break
            links.append(self._node("not", (found,), start) if turned else found)
        if not links:
            return left
        return links[0] if len(links) == 1 else self._node("and", tuple(links), links[0].start)

    def _among(self, left: Node) -> Node:
        close = {"(": ")", "[": "]"}.get(self.now.text if self.now.kind == "sign" else "")
        if close is None:
            self._stuck("`in` goes with literals in parentheses, such as in ('a', 'b')")
        self._next()
        literals = []
        while not self._sign(close):
            literals.append(self._choice())
            if not self._sign(close):
                self._take(",")
        end = self._next().end
        if not literals:
            return self._node("literal", (), left.start, value=False, end=end)
        return self._node("in", (left,), left.start, value=Choices.of(literals), end=end)

    def _choice(self) -> object:
        """One literal of an `in`."""
        minus, start = 0, self.now.start
        while sign := self._sign("-", "+"):
            minus += sign == "-"
            self._next()
        now = self.now
        if now.kind == "number" or (now.kind == "text" and not minus) or self._word(*_LITERALS):
            value = self._literal()
            if not minus or (isinstance(value, (int, float)) and not isinstance(value, bool)):
                return -value if minus % 2 else value  # type: ignore[operator]
        self._refuse("`in` goes with literals only", start, now.end)

    def sum(self, depth: int) -> Node:
        return self._operators(("+", "-"), self.term, depth)

    def term(self, depth: int) -> Node:
        return self._operators(("*", "/", "//", "%"), self.signed, depth)

    def _operators(self, signs: tuple[str, ...], inner: Callable[[int], Node], depth: int) -> Node:
        depth = self._deeper(depth)
        found = inner(depth)
        while sign := self._sign(*signs):
            self._next()
            depth = self._deeper(depth)
            found = self._node(sign, (found, inner(depth)), found.start)
        return found

    def signed(self, depth: int) -> Node:
        start = self.now.start
        if sign := self._sign("-", "+"):
            self._next()
            inner = self.signed(self._deeper(depth))
            return self._node("negative", (inner,), start) if sign == "-" else inner
        return self._atom(depth)

    def _atom(self, depth: int) -> Node:
        now = self.now
        if now.kind == "quoted":
            self._next()
            return self._node("column", (), now.start, now.text, now.end)
        if now.kind in ("number", "text") or self._word(*_LITERALS):
            return self._node("literal", (), now.start, self._literal(), now.end)
        if self._sign("("):
            self._next()
            inner = self.either(self._deeper(depth))
            if self.now.kind == "end":
                self._refuse("`(` is never closed", now.start, len(self.text))
            self._take(")")
            return inner
        if now.kind != "name" or self._word(*_WORDS) or now.text in ("lambda", "if"):
            self._stuck()
        self._next()
        if now.text.lower() == "case" and self._word("when"):
            return self._case(now.start, depth)
        if self._sign("("):
            return self._call(now, depth)
        if self.now.kind == "text" and self.now.start == now.end:
            self._refuse(f"{now.text}'...' texts are not allowed", now.start, self.now.end)
        return self._node("column", (), now.start, now.text, now.end)

    def _literal(self) -> object:
        token = self._next()
        if token.kind == "name":
            return _LITERALS[token.text if token.text == "None" else token.text.lower()]
        if token.kind == "text":
            quote = token.text[0]
            source = re.sub(rf"(\\.)|{quote}{quote}", lambda m: m[1] or f"\\{quote}", token.text[1:-1], flags=re.DOTALL)
            source = source.replace("\n", "\\n").replace("\r", "\\r")
        try:
            if token.kind == "text":
                return ast.literal_eval(f"{quote}{source}{quote}")
            digits = token.text.replace("_", "")
            return int(digits) if digits.isdigit() else float(digits)
        except (SyntaxError, ValueError, UnicodeError) as error:
            self._refuse(f"no such literal: {getattr(error, 'msg', error)}", token.start, token.end)

    def _call(self, name: Token, depth: int) -> Node:
        self._next()
        arguments: list[Node] = []
        deeper = self._deeper(depth)
        while not self._sign(")"):
            if self.now.kind == "end":
                self._refuse("`(` is never closed", name.end, len(self.text))
            arguments.append(self.either(deeper))
            if not self._sign(")"):
                self._take(",")
        end = self._next().end
        function = name.text.lower()
        if function == "col":
            only = arguments[0] if len(arguments) == 1 else None
            if only is not None and only.kind == "literal" and isinstance(only.value, str):
                return self._node("column", (), name.start, only.value, end)
        elif function in FUNCTIONS:
            least, most = FUNCTIONS[function]
            if least <= len(arguments) <= most:
                return self._node(function, tuple(arguments), name.start, end=end)
        self._refuse(f"the only functions are {_functions()}", name.start, end)

    def _case(self, start: int, depth: int) -> Node:
        deeper = self._deeper(depth)
        parts: list[Node] = []
        while self._word("when"):
            self._next()
            parts.append(self.either(deeper))
            self._take("then")
            parts.append(self.either(deeper))
        if self._word("else"):
            self._next()
            parts.append(self.either(deeper))
        else:
            parts.append(self._node("literal", (), self.now.start))
        return self._node("case", tuple(parts), start, end=self._take("end").end)


def _functions() -> str:
    return "abs(number), col('name'), coalesce(...), least(...), greatest(...), lower(text), upper(text), length(text)"
