//! Reads expressions, with the precedence of operators that both servers have.

use super::{Planned, Planner, Scalar, Unplanned};
use crate::functions::{self, FunctionClass};
use crate::rows::conjunct;
use crate::rows::output::{self, Selected};
use crate::rows::parsed::{Block, Subquery};
use crate::rows::source::Source;
use crate::rows::{Datum, conjunct::ColumnName};
use crate::token::TokenKind;

/// What a name in an expression can stand for.
#[derive(Clone, Copy)]
pub(super) enum Sees<'a> {
    /// The expression is computed from the rows of its block: a name is a column of the block, or of a block around it.
    Rows,
    /// The expression joins these tables: a name is one of their columns.
    Join(&'a [usize]),
    /// A name may be an item of the select list as well.
    Items,
}

/// Binary operators, from the one that binds least to the one that binds most, each with its words or signs.
const BINARY: &[&[(&str, &str)]] = &[
    &[("OR", "or")],
    &[("XOR", "xor")],
    &[("AND", "and"), ("&&", "and")],
    // The place of NOT.
    &[],
    &[
        ("=", "="),
        ("<=>", "<=>"),
        (">=", ">="),
        (">", ">"),
        ("<=", "<="),
        ("<", "<"),
        ("<>", "<>"),
        ("!=", "<>"),
    ],
    &[("|", "|")],
    &[("&", "&")],
    &[("<<", "<<"), (">>", ">>")],
    &[("+", "+"), ("-", "-")],
    &[("*", "*"), ("/", "/"), ("DIV", "div"), ("%", "%"), ("MOD", "%")],
    &[("^", "^")],
];
const NOT: usize = 3;
const COMPARISON: usize = 4;
const ABOVE_COMPARISON: usize = COMPARISON + 1;

/// Words that change how the expression beside them is read, and have no place in the form.
const REFUSED: &[&str] = &[
    "ALL",
    "ANY",
    "BINARY",
    "CAST",
    "COLLATE",
    "CONVERT",
    "ESCAPE",
    "EXTRACT",
    "GROUP_CONCAT",
    "INTERVAL",
    "OVER",
    "POSITION",
    "REGEXP",
    "RLIKE",
    "ROLLUP",
    "SEPARATOR",
    "SOME",
    "SOUNDS",
    "SUBSTR",
    "SUBSTRING",
    "TRIM",
];

pub(super) struct Expression<'r, 'p, 'v> {
    pub(super) planner: &'r Planner<'p, 'v>,
    pub(super) block: &'r Block,
    pub(super) source: &'r Source<'r>,
    pub(super) place: Sees<'r>,
    pub(super) at: usize,
    pub(super) end: usize,
}

fn call(name: &str, args: Vec<Scalar>) -> Scalar {
    Scalar::Call(name.to_owned(), args)
}

impl Expression<'_, '_, '_> {
    pub(super) fn is_over(&self) -> bool {
        self.at == self.end
    }

    /// Returns a refusal that names the token here.
    pub(super) fn refused(&self) -> Unplanned {
        let token = if self.at < self.end { self.source.bytes(self.at) } else { b"an end" };
        Unplanned::by(format!("{} in an expression", String::from_utf8_lossy(token)))
    }

    fn word(&mut self, word: &str) -> bool {
        let here = self.at < self.end && self.source.word(self.at, word);
        self.at += usize::from(here);
        here
    }

    fn punct(&mut self, punct: u8) -> bool {
        let here = self.at < self.end && self.source.is(self.at, punct);
        self.at += usize::from(here);
        here
    }

    fn expect(&mut self, here: bool) -> Planned<()> {
        if here { Ok(()) } else { Err(self.refused()) }
    }

    /// Reads any expression.
    pub(super) fn any(&mut self, depth: usize) -> Planned<Scalar> {
        self.level(0, depth)
    }

    fn level(&mut self, level: usize, depth: usize) -> Planned<Scalar> {
        let depth = depth.checked_sub(1).ok_or_else(|| Unplanned::by("expressions that nest too deep"))?;
        let Some(operators) = BINARY.get(level) else { return self.unary(depth) };
        if level == NOT {
            return match self.word("NOT") {
                true => Ok(call("not", vec![self.level(NOT, depth)?])),
                false => self.level(COMPARISON, depth),
            };
        }
        let mut left = self.level(level + 1, depth)?;
        loop {
            if level == COMPARISON
                && let Some(tested) = self.test(&left, depth)?
            {
                left = tested;
                continue;
            }
            let Some(operator) = self.operator(operators) else { return Ok(left) };
            left = call(operator, vec![left, self.level(level + 1, depth)?]);
        }
    }

    fn operator(&mut self, operators: &[(&str, &'static str)]) -> Option<&'static str> {
        let token = self.source.token(self.at).filter(|_| self.at < self.end)?;
        let written = self.source.bytes(self.at);
        let is_it = |operator: &&(&str, &'static str)| match token.kind {
            TokenKind::Word => self.source.word(self.at, operator.0),
            _ => written == operator.0.as_bytes(),
        };
        let name = operators.iter().find(is_it)?.1;
        self.at += 1;
        Some(name)
    }

    /// Reads IS, BETWEEN, IN or LIKE behind an operand.
    fn test(&mut self, left: &Scalar, depth: usize) -> Planned<Option<Scalar>> {
        if self.word("IS") {
            let is_not = self.word("NOT");
            let null = self.word("NULL");
            self.expect(null)?;
            return Ok(Some(negated(is_not, call("is null", vec![left.clone()]))));
        }
        let start = self.at;
        let is_not = self.word("NOT");
        let tested = if self.word("BETWEEN") {
            let low = self.level(ABOVE_COMPARISON, depth)?;
            let and = self.word("AND");
            self.expect(and)?;
            call("between", vec![left.clone(), low, self.level(ABOVE_COMPARISON, depth)?])
        } else if self.word("IN") {
            let opens = self.punct(b'(');
            self.expect(opens)?;
            let mut args = vec![left.clone()];
            self.arguments(&mut args, depth)?;
            call("in", args)
        } else if self.word("LIKE") {
            call("like", vec![left.clone(), self.level(ABOVE_COMPARISON, depth)?])
        } else {
            self.at = start;
            return Ok(None);
        };
        Ok(Some(negated(is_not, tested)))
    }

    /// Reads the content of parentheses that are already open, and the closing one.
    fn arguments(&mut self, args: &mut Vec<Scalar>, depth: usize) -> Planned<()> {
        if self.punct(b')') {
            return Ok(());
        }
        loop {
            args.push(match self.subquery(depth)? {
                Some(query) => query,
                None => self.any(depth)?,
            });
            if !self.punct(b',') {
                let closes = self.punct(b')');
                return self.expect(closes);
            }
        }
    }

    /// Reads the subquery that begins here, behind its opening parenthesis.
    fn subquery(&mut self, depth: usize) -> Planned<Option<Scalar>> {
        let parsed = self.planner.parsed;
        let is_here = |it: &&Subquery| it.source == self.block.source && it.at == self.at;
        let Some(Subquery { at, query, .. }) = parsed.subqueries.iter().find(is_here) else {
            return Ok(None);
        };
        let close = at.checked_sub(1).and_then(|opening| self.source.closing(opening));
        self.at = close.ok_or_else(|| self.refused())?;
        Ok(Some(Scalar::Query(Box::new(self.planner.query(query, depth)?))))
    }

    fn unary(&mut self, depth: usize) -> Planned<Scalar> {
        if let Some(datum) = self.literal() {
            return Ok(Scalar::Value(datum));
        }
        for (sign, name) in [(b'-', "-"), (b'~', "~"), (b'!', "not")] {
            if self.punct(sign) {
                return Ok(call(name, vec![self.level(BINARY.len(), depth)?]));
            }
        }
        if self.punct(b'+') {
            return self.level(BINARY.len(), depth);
        }
        if self.punct(b'(') {
            return self.parenthesis(depth);
        }
        self.operand(depth)
    }

    /// Reads parentheses. A row of several values becomes one call.
    fn parenthesis(&mut self, depth: usize) -> Planned<Scalar> {
        let mut values = Vec::new();
        self.arguments(&mut values, depth)?;
        if values.len() > 1 { Ok(call("row", values)) } else { values.pop().ok_or_else(|| self.refused()) }
    }

    /// Reads a literal or a parameter, with its sign.
    fn literal(&mut self) -> Option<Datum> {
        let signs = usize::from(self.source.is(self.at, b'-') || self.source.is(self.at, b'+'));
        let end = self.at + signs + 1;
        // A string that follows belongs to the literal.
        let is_joined = self.source.token(end).is_some_and(|next| next.kind == TokenKind::Str);
        if end > self.end || is_joined {
            return None;
        }
        let datum = conjunct::datum(self.source, self.at..end);
        if datum == Datum::Other {
            return None;
        }
        self.at = end;
        Some(datum)
    }

    fn operand(&mut self, depth: usize) -> Planned<Scalar> {
        if self.at >= self.end || self.source.any(self.at, REFUSED) {
            return Err(self.refused());
        }
        if self.word("CASE") {
            return self.case(depth);
        }
        let is_call = self.source.token(self.at).is_some_and(|token| token.kind == TokenKind::Word)
            && self.source.is(self.at + 1, b'(');
        if is_call {
            return self.call(depth);
        }
        let (named, end) = conjunct::column(self.source, self.at..self.end);
        let Some(named) = named else { return Err(self.refused()) };
        let value = self.named(&named)?;
        self.at = end;
        Ok(value)
    }

    /// Resolves a name to a column or to an item.
    fn named(&self, named: &ColumnName) -> Planned<Scalar> {
        let column = match self.place {
            Sees::Join(operands) => self.planner.names.joined_column(self.block, operands, named),
            Sees::Rows | Sees::Items => self.planner.names.visible_column(self.block, named),
        };
        let column = column.map(|column| Scalar::Column(column.leaf, column.name));
        let Sees::Items = self.place else { return column.ok_or_else(|| self.unknown(named)) };
        let [name] = &named[..] else { return column.ok_or_else(|| self.unknown(named)) };
        let is_it = |(_, item): &(usize, &output::Item)| item.name.as_ref() == Some(name);
        let mut items = self.block.items.iter().enumerate().filter(is_it);
        match (items.next(), items.next(), column) {
            (None, _, column) => column.ok_or_else(|| self.unknown(named)),
            (Some((at, _)), None, None) => Ok(Scalar::Item(self.planner.place(self.block, at)?)),
            // The item is the column, under its own name.
            (Some((_, item)), None, Some(column)) if self.is_column(item, &column) => Ok(column),
            _ => Err(Unplanned::by(format!("{name}, which may be a column or an item"))),
        }
    }

    fn is_column(&self, item: &output::Item, column: &Scalar) -> bool {
        let Selected::Column(named) = &item.what else { return false };
        let own = self.planner.names.visible_column(self.block, named);
        own.is_some_and(|own| Scalar::Column(own.leaf, own.name) == *column)
    }

    fn unknown(&self, named: &ColumnName) -> Unplanned {
        Unplanned::by(format!("whose column {} is", named.join(".")))
    }

    /// Reads a call of a built-in function.
    fn call(&mut self, depth: usize) -> Planned<Scalar> {
        let word = self.source.bytes(self.at);
        let name = String::from_utf8_lossy(word).to_ascii_lowercase();
        let is_exists = self.source.word(self.at, "EXISTS");
        let is_aggregate = output::has_aggregate(self.source, self.at..self.at + 1);
        if !is_exists && functions::class(word, false, self.source.modes) != FunctionClass::Pure {
            return Err(Unplanned::by(format!("the function {name}")));
        }
        self.at += 2;
        let is_distinct = is_aggregate && self.word("DISTINCT");
        let mut args = Vec::new();
        if is_aggregate && self.source.is(self.at, b'*') && self.source.is(self.at + 1, b')') {
            args.push(Scalar::All);
            self.at += 2;
        } else {
            self.arguments(&mut args, depth)?;
        }
        if self.at < self.end && self.source.any(self.at, &["OVER"]) {
            return Err(self.refused());
        }
        if !is_aggregate {
            return Ok(Scalar::Call(name, args));
        }
        // An aggregate whose columns all belong to a block around its own is an aggregate of that outer block.
        let (inputs, own) = (args.iter().flat_map(Scalar::inputs), self.block.group.all_leaves());
        let inputs: Vec<usize> = inputs.collect();
        if !inputs.is_empty() && !inputs.iter().any(|input| own.contains(input)) {
            return Err(Unplanned::by("an aggregate of a block around its own"));
        }
        Ok(Scalar::Aggregate(name, is_distinct, args))
    }

    /// `CASE WHEN a THEN b … ELSE c END`: the pairs, and then what is behind ELSE, or NULL. `case of` has the value behind CASE
    /// before them.
    fn case(&mut self, depth: usize) -> Planned<Scalar> {
        let has_value = !self.source.word(self.at, "WHEN");
        let mut args = Vec::new();
        if has_value {
            args.push(self.any(depth)?);
        }
        while self.word("WHEN") {
            args.push(self.any(depth)?);
            let then = self.word("THEN");
            self.expect(then)?;
            args.push(self.any(depth)?);
        }
        args.push(if self.word("ELSE") { self.any(depth)? } else { Scalar::Value(Datum::Null) });
        let ends = self.word("END");
        self.expect(ends)?;
        Ok(call(if has_value { "case of" } else { "case" }, args))
    }
}

fn negated(is_not: bool, value: Scalar) -> Scalar {
    if is_not { call("not", vec![value]) } else { value }
}
