//! Pins against a naive evaluation: a row that fails a pin of its occurrence must not change any result.
//!
//! Each occurrence has rows of its own, so that what is tested is the occurrence, whatever its table. Derived tables, table
//! expressions and views are leaves as well, whose rows come from the query that they stand for.
//!
//! The fuzzer reads this file too, and hands in a way to write the same statement differently.

use std::collections::HashMap;

use super::*;

type Value = Option<i64>;
type Row = [Value; 3];
type Truth = Option<bool>;

/// A small generator of numbers; the same seed gives the same run.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % below
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.next(100) < percent
    }

    fn value(&mut self) -> Value {
        if self.chance(15) { None } else { Some(self.next(4) as i64) }
    }

    fn row(&mut self) -> Row {
        [self.value(), self.value(), self.value()]
    }
}

#[derive(Clone, Debug)]
enum Operand {
    Column(usize, usize),
    /// `id`, which joins have merged to that of this leaf.
    Merged(usize),
    Literal(Value),
    Param(Value),
}

#[derive(Clone, Debug)]
enum Truthy {
    Compare(Operand, &'static str, Operand),
    In(Operand, Vec<Operand>),
    Between(Operand, Operand, Operand),
    IsNull(Operand),
    And(Vec<Truthy>),
    Or(Vec<Truthy>),
    Not(Box<Truthy>),
    Exists(Box<Select>),
    /// It is what a query shows of a column.
    Within(Operand, Box<Select>, (usize, usize), bool),
    /// Some columns together are one of these rows.
    Rows(Vec<Operand>, Vec<Vec<Operand>>),
    /// In place of ON: the `id` of these leaves is merged, by NATURAL or by USING.
    Merging(usize, usize, bool),
}

#[derive(Clone, Debug)]
enum From {
    Leaf(usize),
    /// A leaf, and what it stands for.
    Derived(usize, std::rc::Rc<Derived>),
    /// With the word that joins, and ON.
    Join(Box<From>, &'static str, Box<From>, Option<Truthy>),
}

#[derive(Clone, Debug)]
struct Select {
    counts: Vec<Select>,
    from: From,
    filter: Truthy,
}

/// How a query is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Derived,
    Expression,
    View,
}

#[derive(Clone, Debug)]
struct Derived {
    style: Style,
    /// Its leaf; that of its first naming.
    leaf: usize,
    branches: Vec<Branch>,
    /// UNION ALL.
    all: bool,
    limit: Option<usize>,
}

#[derive(Clone, Debug)]
struct Branch {
    select: Select,
    items: Vec<Item>,
    distinct: bool,
    group_by: Vec<(usize, usize)>,
}

#[derive(Clone, Copy, Debug)]
enum Item {
    Column(usize, usize),
    More(usize, usize),
    Count,
    CountOfAll,
}

const TABLES: [(&str, [&str; 3]); 3] =
    [("t", ["id", "a", "b"]), ("u", ["id", "tid", "x"]), ("w", ["id", "uid", "z"])];

fn column_name(leaf: usize, column: usize) -> &'static str {
    TABLES[leaf % 3].1[column]
}

/// Makes statements.
struct Maker<'r> {
    random: &'r mut Random,
    leaves: usize,
    /// How deep it is in derived tables.
    nested: usize,
    /// The table expressions that can be named again.
    expressions: Vec<std::rc::Rc<Derived>>,
}

impl Maker<'_> {
    fn select(&mut self, outer: &[usize], depth: usize) -> Select {
        let mut own = Vec::new();
        let count = 1 + self.random.next(if depth == 0 { 4 } else { 2 });
        let from = self.from(count, &mut own);
        let visible: Vec<usize> = outer.iter().copied().chain(own.iter().copied()).collect();
        let mut filter = self.all(&visible, &own, depth);
        if let (Some(leaf), Truthy::And(parts)) = (merged(&from), &mut filter) {
            let operator = ["=", "=", "<", ">="][self.random.next(4)];
            parts.push(Truthy::Compare(Operand::Merged(leaf), operator, self.literal()));
        }
        let mut counts = Vec::new();
        if depth == 0 && self.random.chance(25) {
            counts.push(self.select(&visible, depth + 1));
        }
        Select { counts, from, filter }
    }

    fn from(&mut self, count: usize, own: &mut Vec<usize>) -> From {
        if count <= 1 {
            if self.nested < 2 && self.random.chance(30) {
                return self.derived(own);
            }
            own.push(self.leaf());
            return From::Leaf(self.leaves - 1);
        }
        let left_count = 1 + self.random.next(count - 1);
        let mut below = Vec::new();
        let left = self.from(left_count, &mut below);
        let right = self.from(count - left_count, &mut below);
        let word = ["JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", ","][self.random.next(5)];
        let merging = self.merging(&left, &right).filter(|_| word != "," && self.random.chance(40));
        let on = match merging {
            Some(merging) => Some(merging),
            None => (word != ",").then(|| self.all(&below.clone(), &below, 2)),
        };
        own.extend(below);
        From::Join(Box::new(left), word, Box::new(right), on)
    }

    /// A join that merges `id`, where both sides have one column of this name. NATURAL merges nothing else, if each table is there
    /// once.
    fn merging(&mut self, left: &From, right: &From) -> Option<Truthy> {
        let (of_left, of_right) = (merged(left).or(alone(left))?, merged(right).or(alone(right))?);
        let mut leaves = Vec::new();
        leaves_of(left, &mut leaves);
        leaves_of(right, &mut leaves);
        let mut tables: Vec<usize> = leaves.iter().map(|leaf| leaf % 3).collect();
        tables.sort_unstable();
        let differ = tables.windows(2).all(|pair| pair[0] != pair[1]);
        Some(Truthy::Merging(of_left, of_right, differ && self.random.chance(50)))
    }

    fn leaf(&mut self) -> usize {
        self.leaves += 1;
        self.leaves - 1
    }

    fn derived(&mut self, own: &mut Vec<usize>) -> From {
        let again = self.random.chance(50);
        if again && let Some(named) = self.expressions.last().cloned() {
            // The same columns have the same names.
            while self.leaves % 3 != named.leaf % 3 {
                self.leaves += 1;
            }
            own.push(self.leaf());
            return From::Derived(self.leaves - 1, named);
        }
        let style = [Style::Derived, Style::Expression, Style::View][self.random.next(3)];
        let leaf = self.leaf();
        self.nested += 1;
        let around = std::mem::take(&mut self.expressions);
        let branches = 1 + usize::from(self.random.chance(30));
        let branches = (0..branches).map(|_| self.branch()).collect();
        self.expressions = around;
        self.nested -= 1;
        own.push(leaf);
        let limit = self.random.chance(10).then(|| self.random.next(3));
        let derived = std::rc::Rc::new(Derived { style, leaf, branches, all: self.random.chance(50), limit });
        if style == Style::Expression {
            self.expressions.push(derived.clone());
        }
        From::Derived(leaf, derived)
    }

    fn branch(&mut self) -> Branch {
        let select = self.select(&[], 1);
        let mut own = Vec::new();
        leaves_of(&select.from, &mut own);
        let mut column = || (own[self.random.next(own.len())], self.random.next(3));
        let (a, b, c) = (column(), column(), column());
        let columns: [Item; 3] = [a, b, c].map(|(leaf, column)| Item::Column(leaf, column));
        let mut branch = Branch { select, items: columns.to_vec(), distinct: false, group_by: Vec::new() };
        match self.random.next(10) {
            0 => branch.items[1] = Item::More(b.0, b.1),
            1 => branch.items[2] = Item::CountOfAll,
            2 => branch.distinct = true,
            3..=5 => {
                // The server may choose any row's value of what it does not group by; here it is the first one's.
                branch.group_by = vec![if self.random.chance(50) { a } else { c }, b];
                branch.items[2] = Item::Count;
            }
            _ => {}
        }
        branch
    }

    /// A conjunction, in the main.
    fn all(&mut self, visible: &[usize], own: &[usize], depth: usize) -> Truthy {
        let count = 1 + self.random.next(3);
        Truthy::And((0..count).map(|_| self.truthy(visible, own, depth)).collect())
    }

    fn truthy(&mut self, visible: &[usize], own: &[usize], depth: usize) -> Truthy {
        match self.random.next(24) {
            20 | 21 => Truthy::Or(
                (0..2 + self.random.next(2)).map(|_| self.all(visible, own, depth.max(1))).collect(),
            ),
            22 | 23 => {
                let columns = vec![self.column(own), self.column(own)];
                let rows = 1 + self.random.next(3);
                Truthy::Rows(columns, (0..rows).map(|_| vec![self.literal(), self.literal()]).collect())
            }
            0 if self.random.chance(50) => {
                let column = self.column(own);
                let mut equal = || Truthy::Compare(column.clone(), "=", self.literal());
                Truthy::Or(vec![equal(), equal()])
            }
            0 => Truthy::Or((0..2).map(|_| self.truthy(visible, own, depth)).collect()),
            1 => Truthy::Not(Box::new(self.truthy(visible, own, depth))),
            2 => self.all(visible, own, depth),
            3 | 4 if depth < 2 && self.random.chance(35) => {
                let select = self.select(visible, depth + 1);
                let mut inner = Vec::new();
                leaves_of(&select.from, &mut inner);
                let shown = (inner[self.random.next(inner.len())], self.random.next(3));
                let distinct = self.random.chance(30);
                let within = Truthy::Within(self.column(own), Box::new(select), shown, distinct);
                if self.random.chance(20) { Truthy::Not(Box::new(within)) } else { within }
            }
            3 | 4 if depth < 2 => {
                let exists = Truthy::Exists(Box::new(self.select(visible, depth + 1)));
                if self.random.chance(40) { Truthy::Not(Box::new(exists)) } else { exists }
            }
            5 | 6 => Truthy::IsNull(self.column(own)),
            7 => Truthy::In(self.column(own), (0..2).map(|_| self.literal()).collect()),
            8 => Truthy::Between(self.column(own), self.literal(), self.literal()),
            9..=13 => {
                let (a, b) = (self.column(own), self.column(visible));
                Truthy::Compare(a, "=", b)
            }
            _ => {
                let operator = ["=", "=", "=", "<=>", "<", "<=", ">", ">="][self.random.next(8)];
                let (a, b) = (self.column(own), self.literal());
                let (a, b) = if self.random.chance(30) { (b, a) } else { (a, b) };
                Truthy::Compare(a, operator, b)
            }
        }
    }

    fn column(&mut self, leaves: &[usize]) -> Operand {
        Operand::Column(leaves[self.random.next(leaves.len())], self.random.next(3))
    }

    fn literal(&mut self) -> Operand {
        let value = self.random.value();
        if self.random.chance(25) { Operand::Param(value) } else { Operand::Literal(value) }
    }
}

/// Writes statements, and notes the order in which tables and parameters stand in the text.
#[derive(Default)]
struct Writer {
    text: String,
    leaves: Vec<Option<usize>>,
    params: Vec<Value>,
    /// What WITH defines.
    expressions: Vec<Writer>,
    written: Vec<usize>,
    /// It is the text of a view, which has no parameters.
    in_view: bool,
    views: HashMap<String, View>,
    named: Vec<TableName>,
}

impl Writer {
    fn like(&self) -> Writer {
        Writer { in_view: self.in_view, ..Writer::default() }
    }

    /// The whole text, with WITH in front.
    fn whole(mut self) -> Writer {
        if self.expressions.is_empty() {
            return self;
        }
        let mut all = self.like();
        for (at, expression) in std::mem::take(&mut self.expressions).into_iter().enumerate() {
            all.text += if at == 0 { "WITH " } else { ", " };
            all.add(expression);
        }
        all.text += " ";
        all.add(self);
        all
    }

    fn add(&mut self, other: Writer) {
        self.text += &other.text;
        self.leaves.extend(other.leaves);
        self.params.extend(other.params);
        self.views.extend(other.views);
        self.named.extend(other.named);
    }

    fn derived(&mut self, leaf: usize, derived: &Derived) {
        match derived.style {
            Style::Derived => {
                self.text += "(";
                self.query(derived);
                self.text += &format!(") AS l{leaf}");
            }
            Style::Expression => {
                if !self.written.contains(&derived.leaf) {
                    self.written.push(derived.leaf);
                    let mut body = self.like();
                    body.text += &format!("c{} AS (", derived.leaf);
                    body.query(derived);
                    body.text += ")";
                    self.expressions.append(&mut body.expressions);
                    self.expressions.push(body);
                }
                self.text += &format!("c{} AS l{leaf}", derived.leaf);
            }
            Style::View => {
                let mut body = Writer { in_view: true, ..Writer::default() };
                body.query(derived);
                let body = body.whole();
                let name = format!("v{leaf}");
                let columns = [0, 1, 2].map(|column| column_name(derived.leaf, column));
                self.text += &format!("{name} AS l{leaf}");
                self.leaves.push(None);
                self.leaves.extend(body.leaves);
                self.views.extend(body.views);
                self.views
                    .insert(name.clone(), View::read(&body.text, "s", &columns, MYSQL).expect(&body.text));
                self.named.push(TableName::bare(name));
            }
        }
    }

    fn query(&mut self, derived: &Derived) {
        for (at, branch) in derived.branches.iter().enumerate() {
            if at > 0 {
                self.text += if derived.all { " UNION ALL " } else { " UNION " };
            }
            let items = branch.items.iter().enumerate();
            let items =
                items.map(|(at, item)| format!("{} AS {}", show_item(item), column_name(derived.leaf, at)));
            let list: Vec<String> = items.collect();
            self.select(
                &branch.select,
                &format!("{}{}", if branch.distinct { "DISTINCT " } else { "" }, list.join(", ")),
            );
            if !branch.group_by.is_empty() {
                let by = branch.group_by.iter().map(|&(leaf, column)| show_item(&Item::Column(leaf, column)));
                self.text += &format!(" GROUP BY {}", by.collect::<Vec<_>>().join(", "));
            }
        }
        if let Some(limit) = derived.limit {
            self.text += &format!(" ORDER BY 1, 2, 3 LIMIT {limit}");
        }
    }

    fn select(&mut self, select: &Select, list: &str) {
        self.text += "SELECT ";
        self.text += list;
        for count in &select.counts {
            self.text += ", (";
            self.select(count, "COUNT(*)");
            self.text += ")";
        }
        self.text += " FROM ";
        self.from(&select.from);
        self.text += " WHERE ";
        self.truthy(&select.filter);
    }

    fn from(&mut self, from: &From) {
        match from {
            From::Leaf(leaf) => {
                self.leaves.push(Some(*leaf));
                self.text += &format!("{} AS l{leaf}", TABLES[leaf % 3].0);
                self.named.push(TableName::bare(TABLES[leaf % 3].0));
            }
            From::Derived(leaf, derived) => self.derived(*leaf, derived),
            From::Join(left, word, right, on) => {
                self.text += "(";
                self.from(left);
                let is_natural = matches!(on, Some(Truthy::Merging(_, _, true)));
                self.text += &format!(" {}{word} ", if is_natural { "NATURAL " } else { "" });
                self.from(right);
                match on {
                    Some(Truthy::Merging(_, _, true)) => {}
                    Some(Truthy::Merging(..)) => self.text += " USING (id)",
                    Some(on) => {
                        self.text += " ON ";
                        self.truthy(on);
                    }
                    None => {}
                }
                self.text += ")";
            }
        }
    }

    fn operand(&mut self, operand: &Operand) {
        match operand {
            Operand::Column(leaf, column) => self.text += &format!("l{leaf}.{}", column_name(*leaf, *column)),
            Operand::Merged(_) => self.text += "id",
            Operand::Literal(Some(value)) => self.text += &value.to_string(),
            Operand::Literal(None) => self.text += "NULL",
            Operand::Param(value) if self.in_view => self.operand(&Operand::Literal(*value)),
            Operand::Param(value) => {
                self.params.push(*value);
                self.text += "?";
            }
        }
    }

    fn joined(&mut self, parts: &[Truthy], word: &str) {
        self.text += "(";
        for (at, part) in parts.iter().enumerate() {
            if at > 0 {
                self.text += word;
            }
            self.truthy(part);
        }
        self.text += ")";
    }

    fn truthy(&mut self, truthy: &Truthy) {
        match truthy {
            Truthy::Compare(a, operator, b) => {
                self.operand(a);
                self.text += &format!(" {operator} ");
                self.operand(b);
            }
            Truthy::In(a, list) => {
                self.operand(a);
                self.text += " IN (";
                for (at, item) in list.iter().enumerate() {
                    if at > 0 {
                        self.text += ", ";
                    }
                    self.operand(item);
                }
                self.text += ")";
            }
            Truthy::Between(a, low, high) => {
                self.operand(a);
                self.text += " BETWEEN ";
                self.operand(low);
                self.text += " AND ";
                self.operand(high);
            }
            Truthy::IsNull(a) => {
                self.operand(a);
                self.text += " IS NULL";
            }
            Truthy::And(parts) => self.joined(parts, " AND "),
            Truthy::Or(parts) => self.joined(parts, " OR "),
            Truthy::Not(inner) => {
                self.text += "NOT (";
                self.truthy(inner);
                self.text += ")";
            }
            Truthy::Merging(..) => unreachable!("it stands for an ON"),
            Truthy::Rows(columns, rows) => {
                self.row(columns);
                self.text += if rows.len() == 1 { " = " } else { " IN (" };
                for (at, row) in rows.iter().enumerate() {
                    if at > 0 {
                        self.text += ", ";
                    }
                    self.row(row);
                }
                self.text += if rows.len() == 1 { "" } else { ")" };
            }
            Truthy::Within(a, select, (leaf, column), distinct) => {
                self.operand(a);
                self.text += " IN (";
                let distinct = if *distinct { "DISTINCT " } else { "" };
                self.select(select, &format!("{distinct}l{leaf}.{}", column_name(*leaf, *column)));
                self.text += ")";
            }
            Truthy::Exists(select) => {
                self.text += "EXISTS (";
                self.select(select, "1");
                self.text += ")";
            }
        }
    }
}

impl Writer {
    fn row(&mut self, row: &[Operand]) {
        self.text += "(";
        self.operand(&row[0]);
        self.text += ", ";
        self.operand(&row[1]);
        self.text += ")";
    }
}

fn show_item(item: &Item) -> String {
    match *item {
        Item::Column(leaf, column) => format!("l{leaf}.{}", column_name(leaf, column)),
        Item::More(leaf, column) => format!("l{leaf}.{} + 1", column_name(leaf, column)),
        Item::Count => "COUNT(*)".to_owned(),
        Item::CountOfAll => "COUNT(*) OVER ()".to_owned(),
    }
}

/// By leaf: its present row. A row of NULLs stands for no match.
type Binding = Vec<Row>;

/// Evaluates by the definition: products, then conditions.
struct World<'w> {
    rows: &'w [Vec<Row>],
}

impl World<'_> {
    fn select(&self, select: &Select, around: &Binding) -> Vec<Vec<i64>> {
        let mut result: Vec<Vec<i64>> = self
            .bindings(select, around)
            .into_iter()
            .map(|binding| {
                let mut leaves = Vec::new();
                leaves_of(&select.from, &mut leaves);
                let own = leaves.iter().flat_map(|&leaf| binding[leaf]);
                let counts = select.counts.iter().map(|count| self.select(count, &binding).len() as i64);
                own.map(|value| value.unwrap_or(-1)).chain(counts).collect()
            })
            .collect();
        result.sort();
        result
    }

    fn bindings(&self, select: &Select, around: &Binding) -> Vec<Binding> {
        let all = self.from(&select.from, around).into_iter();
        all.filter(|binding| self.truth(&select.filter, binding) == Some(true)).collect()
    }

    fn derived(&self, derived: &Derived) -> Vec<Row> {
        let mut rows: Vec<Row> = derived.branches.iter().flat_map(|branch| self.branch(branch)).collect();
        rows.sort();
        if derived.branches.len() > 1 && !derived.all {
            rows.dedup();
        }
        rows.truncate(derived.limit.unwrap_or(usize::MAX));
        rows
    }

    fn branch(&self, branch: &Branch) -> Vec<Row> {
        let bindings = self.bindings(&branch.select, &vec![[None; 3]; self.rows.len()]);
        let all = bindings.len() as i64;
        let mut groups: Vec<(Vec<Value>, Binding, i64)> = Vec::new();
        for binding in bindings {
            let key: Vec<Value> =
                branch.group_by.iter().map(|&(leaf, column)| binding[leaf][column]).collect();
            match groups.iter_mut().find(|(known, ..)| *known == key && !key.is_empty()) {
                Some((_, _, count)) => *count += 1,
                None => groups.push((key, binding, 1)),
            }
        }
        let row = |(_, binding, count): (Vec<Value>, Binding, i64)| -> Row {
            let value = |item: &Item| match *item {
                Item::Column(leaf, column) => binding[leaf][column],
                Item::More(leaf, column) => binding[leaf][column].map(|value| value + 1),
                Item::Count => Some(count),
                Item::CountOfAll => Some(all),
            };
            [value(&branch.items[0]), value(&branch.items[1]), value(&branch.items[2])]
        };
        let mut rows: Vec<Row> = groups.into_iter().map(row).collect();
        rows.sort();
        if branch.distinct {
            rows.dedup();
        }
        rows
    }

    fn from(&self, from: &From, around: &Binding) -> Vec<Binding> {
        match from {
            From::Derived(leaf, derived) => {
                let bind = |row: Row| {
                    let mut binding = around.clone();
                    binding[*leaf] = row;
                    binding
                };
                self.derived(derived).into_iter().map(bind).collect()
            }
            From::Leaf(leaf) => {
                let bind = |row: &Row| {
                    let mut binding = around.clone();
                    binding[*leaf] = *row;
                    binding
                };
                self.rows[*leaf].iter().map(bind).collect()
            }
            From::Join(left, "RIGHT JOIN", right, on) => self.outer(right, left, on.as_ref(), around),
            From::Join(left, "LEFT JOIN", right, on) => self.outer(left, right, on.as_ref(), around),
            From::Join(left, _, right, on) => {
                let left = self.from(left, around);
                let both = left.iter().flat_map(|binding| self.from(right, binding));
                both.filter(|binding| self.matches(on.as_ref(), binding)).collect()
            }
        }
    }

    fn matches(&self, on: Option<&Truthy>, binding: &Binding) -> bool {
        on.is_none_or(|on| self.truth(on, binding) == Some(true))
    }

    fn outer(&self, kept: &From, other: &From, on: Option<&Truthy>, around: &Binding) -> Vec<Binding> {
        let mut out = Vec::new();
        for binding in self.from(kept, around) {
            let matched: Vec<Binding> =
                self.from(other, &binding).into_iter().filter(|both| self.matches(on, both)).collect();
            if !matched.is_empty() {
                out.extend(matched);
                continue;
            }
            let mut leaves = Vec::new();
            leaves_of(other, &mut leaves);
            let mut alone = binding;
            for leaf in leaves {
                alone[leaf] = [None; 3];
            }
            out.push(alone);
        }
        out
    }

    fn truth(&self, truthy: &Truthy, binding: &Binding) -> Truth {
        let value = |operand: &Operand| match operand {
            Operand::Column(leaf, column) => binding[*leaf][*column],
            Operand::Merged(leaf) => binding[*leaf][0],
            Operand::Literal(value) | Operand::Param(value) => *value,
        };
        match truthy {
            Truthy::Compare(a, operator, b) => compare(value(a), operator, value(b)),
            Truthy::In(a, list) => any(list.iter().map(|item| compare(value(a), "=", value(item)))),
            Truthy::Between(a, low, high) => {
                all([compare(value(a), ">=", value(low)), compare(value(a), "<=", value(high))].into_iter())
            }
            Truthy::IsNull(a) => Some(value(a).is_none()),
            Truthy::And(parts) => all(parts.iter().map(|part| self.truth(part, binding))),
            Truthy::Or(parts) => any(parts.iter().map(|part| self.truth(part, binding))),
            Truthy::Not(inner) => self.truth(inner, binding).map(|truth| !truth),
            Truthy::Exists(select) => Some(!self.select(select, binding).is_empty()),
            Truthy::Within(a, select, (leaf, column), _) => {
                let shown = self.bindings(select, binding).into_iter().map(|binding| binding[*leaf][*column]);
                any(shown.map(|shown| compare(value(a), "=", shown)))
            }
            Truthy::Merging(left, right, _) => compare(binding[*left][0], "=", binding[*right][0]),
            Truthy::Rows(columns, rows) => {
                let is = |row: &Vec<Operand>| {
                    all(columns.iter().zip(row).map(|(a, b)| compare(value(a), "=", value(b))))
                };
                any(rows.iter().map(is))
            }
        }
    }
}

/// The leaf whose `id` all others of a join are merged to.
fn merged(from: &From) -> Option<usize> {
    match from {
        From::Join(_, "RIGHT JOIN", _, Some(Truthy::Merging(_, right, _))) => Some(*right),
        From::Join(_, _, _, Some(Truthy::Merging(left, ..))) => Some(*left),
        _ => None,
    }
}

fn alone(from: &From) -> Option<usize> {
    match from {
        From::Leaf(leaf) | From::Derived(leaf, _) => Some(*leaf),
        From::Join(..) => None,
    }
}

fn leaves_of(from: &From, leaves: &mut Vec<usize>) {
    match from {
        From::Leaf(leaf) | From::Derived(leaf, _) => leaves.push(*leaf),
        From::Join(left, _, right, _) => {
            leaves_of(left, leaves);
            leaves_of(right, leaves);
        }
    }
}

fn compare(a: Value, operator: &str, b: Value) -> Truth {
    if operator == "<=>" {
        return Some(a == b);
    }
    let (a, b) = (a?, b?);
    Some(match operator {
        "=" => a == b,
        "<" => a < b,
        "<=" => a <= b,
        ">" => a > b,
        _ => a >= b,
    })
}

fn all(truths: impl Iterator<Item = Truth>) -> Truth {
    let truths: Vec<Truth> = truths.collect();
    if truths.contains(&Some(false)) {
        Some(false)
    } else if truths.contains(&None) {
        None
    } else {
        Some(true)
    }
}

fn any(truths: impl Iterator<Item = Truth>) -> Truth {
    all(truths.map(|truth| truth.map(|truth| !truth))).map(|truth| !truth)
}

/// Whether a row may matter as far as the pins say; NULL counts as equal to NULL there.
fn fits(row: &Row, leaf: usize, alternatives: &[Vec<Pin>], params: &[Value]) -> bool {
    alternatives.iter().any(|pins| fits_all(row, leaf, pins, params))
}

fn fits_all(row: &Row, leaf: usize, pins: &[Pin], params: &[Value]) -> bool {
    let value = |datum: &Datum| match datum {
        Datum::Null => None,
        Datum::Int(value) => Some(*value as i64),
        Datum::InRow(value) => Some(*value),
        Datum::Param(number) => params[usize::from(*number)],
        other => panic!("no such datum here: {other:?}"),
    };
    pins.iter().all(|pin| {
        let column = (0..3).find(|&column| column_name(leaf, column) == pin.column).unwrap();
        let own = row[column];
        match &pin.condition {
            Condition::OneOf(data) => data.iter().any(|datum| value(datum) == own),
            Condition::IsNull => own.is_none(),
            Condition::Like(_) => panic!("no LIKE here"),
            Condition::Between { low, high } => {
                let above = low.as_ref().is_none_or(|(datum, included)| {
                    compare(own, if *included { ">=" } else { ">" }, value(datum)) == Some(true)
                });
                let below = high.as_ref().is_none_or(|(datum, included)| {
                    compare(own, if *included { "<=" } else { "<" }, value(datum)) == Some(true)
                });
                above && below
            }
        }
    })
}

/// What came of some statements.
#[derive(Default)]
pub(crate) struct Tally {
    understood: usize,
    pub(crate) pinned: usize,
    pub(crate) added: usize,
    /// Rows that fit their pins and changed the result: the pins are not needlessly wide throughout.
    pub(crate) mattered: usize,
}

/// Tries as many statements; `write` may write a statement in another way that means the same.
pub(crate) fn some(seed: u64, cases: usize, write: &mut dyn FnMut(&str) -> String) -> Tally {
    let mut tally = Tally::default();
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    for _ in 0..cases {
        one(&mut random, &mut tally, write);
    }
    tally
}

fn one(random: &mut Random, tally: &mut Tally, write: &mut dyn FnMut(&str) -> String) {
    let mut maker = Maker { random, leaves: 0, nested: 0, expressions: Vec::new() };
    let select = maker.select(&[], 0);
    let leaves = maker.leaves;
    if leaves > 9 {
        return;
    }
    let mut writer = Writer::default();
    writer.select(&select, "1");
    let mut writer = writer.whole();
    writer.text = write(&writer.text);
    if writer.leaves.len() > 6 {
        return;
    }
    writer.named.sort();
    writer.named.dedup();
    let known = |table: &TableName| {
        writer.views.get(&table.name).map(TableDefinition::View).or_else(|| columns_of(table))
    };
    let Some(reads) = row_reads_of(writer.text.as_bytes(), MYSQL, &writer.named, &known) else {
        panic!("not understood: {}", writer.text);
    };
    assert_eq!(reads.occurrences.len(), writer.leaves.len(), "{}", writer.text);
    tally.understood += 1;
    tally.pinned += usize::from(
        reads
            .occurrences
            .iter()
            .any(|occurrence| occurrence.alternatives.iter().all(|pins| !pins.is_empty())),
    );
    let mut rows: Vec<Vec<Row>> =
        (0..leaves).map(|_| (0..random.next(4)).map(|_| random.row()).collect()).collect();
    let nothing = vec![[None; 3]; leaves];
    let before = World { rows: &rows }.select(&select, &nothing);
    for _ in 0..6 {
        let at = random.next(writer.leaves.len().max(1));
        let Some(Some(leaf)) = writer.leaves.get(at).copied() else { continue };
        let pins = &reads.occurrences[at].alternatives;
        let row = random.row();
        rows[leaf].push(row);
        let after = World { rows: &rows }.select(&select, &nothing);
        rows[leaf].pop();
        if fits(&row, leaf, pins, &writer.params) {
            tally.mattered += usize::from(before != after);
            continue;
        }
        tally.added += 1;
        assert_eq!(
            before,
            after,
            "{}\n  params {:?}\n  rows {rows:?}\n  row {row:?} of l{leaf}, pinned to {}",
            writer.text,
            writer.params,
            show_alternatives(pins)
        );
    }
}

/// A write with the FROM and WHERE of a SELECT: an UPDATE of these leaves, a DELETE from them, or an INSERT of what they hold.
#[cfg(test)]
fn write_of(writer: &mut Writer, kind: usize, select: &Select, leaves: &[usize]) {
    let list =
        |item: &dyn Fn(usize) -> String| leaves.iter().map(|&leaf| item(leaf)).collect::<Vec<_>>().join(", ");
    let column = |leaf: usize| format!("l{leaf}.{}", column_name(leaf, 1));
    match kind {
        0 => writer.text += "UPDATE ",
        1 => writer.text += &format!("DELETE {} FROM ", list(&|leaf| format!("l{leaf}"))),
        _ => writer.text += &format!("SELECT {} FROM ", list(&column)),
    }
    writer.from(&select.from);
    if kind == 0 {
        writer.text += &format!(" SET {}", list(&|leaf| format!("{} = 9", column(leaf))));
    }
    writer.text += " WHERE ";
    writer.truthy(&select.filter);
}

/// The states of the database in which a write is tried.
#[cfg(test)]
const WORLDS: usize = 6;

/// A write, and what it is made of.
#[cfg(test)]
struct Written {
    kind: usize,
    select: Select,
    /// How many leaves there are, and which of them are written or taken from.
    leaves: usize,
    tables: Vec<usize>,
    writer: Writer,
    writes: Vec<(usize, RowWrite)>,
}

#[cfg(test)]
fn written(random: &mut Random) -> Option<Written> {
    let mut maker = Maker { random, leaves: 0, nested: 0, expressions: Vec::new() };
    let select = maker.select(&[], 0);
    let (leaves, mut own) = (maker.leaves, Vec::new());
    leaves_of(&select.from, &mut own);
    let mut writer = Writer::default();
    writer.from(&select.from);
    let tables: Vec<usize> = own.into_iter().filter(|leaf| writer.leaves.contains(&Some(*leaf))).collect();
    if leaves > 9 || tables.is_empty() {
        return None;
    }
    let kind = random.next(3);
    let mut writer = Writer::default();
    write_of(&mut writer, kind, &select, &tables);
    let mut writer = writer.whole();
    if writer.leaves.len() > 6 {
        return None;
    }
    if kind == 2 {
        let columns: Vec<String> = (0..tables.len()).map(|at| format!("c{at}")).collect();
        writer.text = format!("INSERT INTO target ({}) {}", columns.join(", "), writer.text);
    }
    let target: Vec<String> = (0..9).map(|at| format!("c{at}")).collect();
    let target = TableDefinition::Table { columns: target.into(), shows_all: true };
    let known = |table: &TableName| match table.name.as_str() {
        "target" => Some(target.clone()),
        name => writer.views.get(name).map(TableDefinition::View).or_else(|| columns_of(table)),
    };
    let Some(RowWrites { writes, .. }) = row_writes(writer.text.as_bytes(), MYSQL, &known) else {
        panic!("not understood: {}", writer.text);
    };
    Some(Written { kind, select, leaves, tables, writer, writes })
}

#[cfg(test)]
impl Written {
    /// Returns what takes part in some states of the database.
    fn bindings(&self, random: &mut Random) -> Vec<Binding> {
        let mut bindings = Vec::new();
        for _ in 0..WORLDS {
            let rows: Vec<Vec<Row>> =
                (0..self.leaves).map(|_| (0..2 + random.next(4)).map(|_| random.row()).collect()).collect();
            bindings.extend(World { rows: &rows }.bindings(&self.select, &vec![[None; 3]; self.leaves]));
        }
        bindings
    }

    /// Returns what is said of each leaf.
    fn pins(&self) -> Vec<(usize, Vec<Vec<Pin>>)> {
        if self.kind == 2 {
            let [(_, RowWrite::Fill { given, .. })] = &self.writes[..] else { panic!("{:?}", self.writes) };
            let pins = given.iter().map(|given| match given {
                Given::Taken { pins, .. } => vec![pins.clone()],
                _ => vec![Vec::new()],
            });
            return self.tables.iter().copied().zip(pins).collect();
        }
        let of_leaf = |leaf: &usize| {
            let place = self.writer.leaves.iter().position(|other| *other == Some(*leaf));
            let own = self.writes.iter().filter(|(at, _)| Some(*at) == place);
            let alternatives = own.map(|(_, write)| match write {
                RowWrite::Update { pins, .. } | RowWrite::Delete { pins, .. } => pins.clone(),
                other => panic!("{other:?}"),
            });
            (*leaf, alternatives.collect())
        };
        self.tables.iter().map(of_leaf).collect()
    }
}

/// Every row that takes part has what is said of it, and every value that is taken over too.
#[cfg(test)]
fn one_write(random: &mut Random, tally: &mut Tally) {
    let Some(written) = written(random) else { return };
    let bindings = written.bindings(random);
    let Writer { text, params, .. } = &written.writer;
    tally.understood += 1;
    for (leaf, alternatives) in written.pins() {
        // Of what is outer joined, rows of NULLs alone are those of no match: they are not written, but they are shown.
        let is_row = |row: &&Row| written.kind == 2 || **row != [None; 3];
        for row in bindings.iter().map(|binding| &binding[leaf]).filter(is_row) {
            let fits = fits(row, leaf, &alternatives, params);
            assert!(fits, "{text}\n  params {params:?}\n  {row:?} of l{leaf}, pinned to {alternatives:?}");
            tally.pinned += usize::from(alternatives.iter().all(|pins| !pins.is_empty()));
            tally.mattered += 1;
        }
    }
}

#[test]
fn what_a_write_touches_fits_its_pins() {
    let seed = std::env::var("FRESHET_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1u64);
    let cases = std::env::var("FRESHET_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(4000usize);
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut tally = Tally::default();
    (0..cases).for_each(|_| one_write(&mut random, &mut tally));
    println!("{} writes, {} rows, {} of them pinned", tally.understood, tally.mattered, tally.pinned);
    assert!(tally.understood > cases / 2 && tally.pinned > cases / 4);
}

#[test]
fn rows_outside_of_their_pins_change_nothing() {
    let seed = std::env::var("FRESHET_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1u64);
    let cases = std::env::var("FRESHET_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(4000usize);
    let tally = some(seed, cases, &mut str::to_owned);
    println!(
        "{} statements, {} pinned, {} rows outside of pins, {} inside mattered",
        tally.understood, tally.pinned, tally.added, tally.mattered
    );
    assert!(tally.pinned * 2 > tally.understood && tally.added > cases / 2 && tally.mattered > cases / 20);
}
