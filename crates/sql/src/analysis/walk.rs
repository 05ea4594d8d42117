//! Collects the tables of a parsed query, and refuses everything that is not known to be a function of them.
//!
//! Structures are taken apart without `..`, so that the compiler demands a decision here about a field that a later parser adds.

mod expression;

use sqlparser::ast::{
    Cte, Distinct, Expr, GroupByExpr, Ident, Join, JoinConstraint, JoinOperator, LimitClause,
    NamedWindowExpr, ObjectName, ObjectNamePart, OrderBy, OrderByKind, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, TableFactor, TableWithJoins, With,
};

use crate::TableName;
use crate::functions::Admits;
use crate::modes::Modes;
use crate::reason::Reason;

/// Schemas that the server itself fills, or that tell about accounts.
const SYSTEM_SCHEMAS: &[&str] = &["information_schema", "mysql", "performance_schema", "sys"];

/// Whether this is a schema of the server's own.
pub(super) fn is_system_schema(schema: &str) -> bool {
    SYSTEM_SCHEMAS.iter().any(|system| schema.eq_ignore_ascii_case(system))
}

/// How often the words that bring tables occur, once among the tokens and once in the tree. The two have to agree; otherwise the parser
/// has taken such a word for a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Census {
    pub selects: usize,
    pub froms: usize,
    pub joins: usize,
}

/// Returns the tables of a query, once each, and how often tables are named in it.
pub(super) fn tables(
    query: &Query,
    modes: Modes,
    admits: Admits,
    census: Census,
) -> Result<(Vec<TableName>, usize), Reason> {
    let mut walk = Walk { admits, ..Walk::new(modes) };
    walk.query(query)?;
    let named = walk.named;
    Ok((walk.found(census)?, named))
}

/// Returns the tables of an expression's subqueries.
pub(super) fn expression_tables(
    expression: &Expr,
    modes: Modes,
    census: Census,
) -> Result<Vec<TableName>, Reason> {
    let mut walk = Walk::new(modes);
    walk.expression(expression)?;
    walk.found(census)
}

/// The longest characters of names, in bytes: the servers know no longer ones.
const NAME_CHAR_BYTES_MAX: usize = 3;

struct Walk {
    modes: Modes,
    admits: Admits,
    tables: Vec<TableName>,
    /// How often a table was named.
    named: usize,
    census: Census,
    /// The common table expressions that are visible here, innermost last.
    scope: Vec<String>,
}

type Done = Result<(), Reason>;

/// Refuses a construct by its name.
fn not(what: &str) -> Reason {
    Reason::NotParsed(format!("{what} is not understood"))
}

/// Refuses a construct unless it is absent.
fn absent(absent: bool, what: &str) -> Done {
    if absent { Ok(()) } else { Err(not(what)) }
}

impl Walk {
    fn new(modes: Modes) -> Self {
        Walk {
            modes,
            admits: Admits::RowsAlone,
            tables: Vec::new(),
            named: 0,
            scope: Vec::new(),
            census: Census::default(),
        }
    }

    fn found(self, census: Census) -> Result<Vec<TableName>, Reason> {
        if self.census == census { Ok(self.tables) } else { Err(not("a keyword in the place of a name")) }
    }

    fn query(&mut self, query: &Query) -> Done {
        let Query {
            with,
            body,
            order_by,
            limit_clause,
            fetch,
            locks,
            for_clause,
            settings,
            format_clause,
            pipe_operators,
        } = query;
        absent(fetch.is_none(), "FETCH")?;
        absent(locks.is_empty() && for_clause.is_none(), "FOR")?;
        absent(settings.is_none() && format_clause.is_none(), "SETTINGS")?;
        absent(pipe_operators.is_empty(), "|>")?;
        let outer = self.scope.len();
        if let Some(with) = with {
            self.with(with)?;
        }
        self.body(body)?;
        if let Some(order_by) = order_by {
            self.order_by(order_by)?;
        }
        if let Some(limit) = limit_clause {
            self.limit(limit)?;
        }
        self.scope.truncate(outer);
        Ok(())
    }

    /// Walks common table expressions. Each sees those before it, and itself only if WITH is RECURSIVE: otherwise its own name is a
    /// table's.
    fn with(&mut self, with: &With) -> Done {
        let With { with_token: _, recursive, cte_tables } = with;
        for cte in cte_tables {
            let Cte { alias, query, from, materialized, closing_paren_token: _ } = cte;
            absent(from.is_none() && materialized.is_none(), "MATERIALIZED")?;
            if *recursive {
                self.scope.push(alias.name.value.clone());
                self.query(query)?;
            } else {
                self.query(query)?;
                self.scope.push(alias.name.value.clone());
            }
        }
        Ok(())
    }

    /// Walks the body of a query. A chain of set operations hangs to the left, and is walked without recursion.
    fn body(&mut self, mut body: &SetExpr) -> Done {
        while let SetExpr::SetOperation { left, op: _, set_quantifier: _, right } = body {
            self.term(right)?;
            body = left;
        }
        self.term(body)
    }

    fn term(&mut self, body: &SetExpr) -> Done {
        match body {
            SetExpr::Select(select) => self.select(select),
            SetExpr::Query(query) => self.query(query),
            SetExpr::SetOperation { .. } => self.body(body),
            SetExpr::Values(values) => {
                for row in &values.rows {
                    self.expressions(row)?;
                }
                Ok(())
            }
            SetExpr::Table(_) => Err(not("TABLE as a query")),
            SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
                Err(Reason::NotSelect)
            }
        }
    }

    fn select(&mut self, select: &Select) -> Done {
        let Select {
            select_token: _,
            optimizer_hints: _,
            distinct,
            select_modifiers: _,
            top,
            top_before_distinct: _,
            projection,
            exclude,
            into,
            from,
            lateral_views,
            prewhere,
            selection,
            connect_by,
            group_by,
            cluster_by,
            distribute_by,
            sort_by,
            having,
            named_window,
            qualify,
            window_before_qualify: _,
            value_table_mode,
            flavor: _,
        } = select;
        absent(!matches!(distinct, Some(Distinct::On(_))), "DISTINCT ON")?;
        absent(top.is_none(), "TOP")?;
        absent(into.is_none(), "INTO")?;
        absent(exclude.is_none() && prewhere.is_none() && qualify.is_none(), "a clause of other servers")?;
        absent(lateral_views.is_empty() && connect_by.is_empty(), "LATERAL VIEW or CONNECT BY")?;
        absent(cluster_by.is_empty() && distribute_by.is_empty() && sort_by.is_empty(), "CLUSTER BY")?;
        absent(value_table_mode.is_none(), "AS STRUCT")?;
        self.census.selects += 1;
        self.census.froms += usize::from(!from.is_empty());
        for table in from {
            self.table_with_joins(table)?;
        }
        projection.iter().try_for_each(|item| self.item(item))?;
        selection.iter().chain(having).try_for_each(|expression| self.expression(expression))?;
        self.group_by(group_by)?;
        for window in named_window {
            match &window.1 {
                NamedWindowExpr::NamedWindow(_) => {}
                NamedWindowExpr::WindowSpec(spec) => self.window(spec)?,
            }
        }
        Ok(())
    }

    fn item(&mut self, item: &SelectItem) -> Done {
        match item {
            SelectItem::UnnamedExpr(expression) | SelectItem::ExprWithAlias { expr: expression, .. } => {
                self.expression(expression)
            }
            SelectItem::Wildcard(_) => Ok(()),
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(_), _) => Ok(()),
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::Expr(_), _)
            | SelectItem::ExprWithAliases { .. } => Err(not("a column of several names")),
        }
    }

    fn group_by(&mut self, group_by: &GroupByExpr) -> Done {
        match group_by {
            GroupByExpr::Expressions(expressions, modifiers) if modifiers.is_empty() => {
                self.expressions(expressions)
            }
            GroupByExpr::Expressions(..) | GroupByExpr::All(_) => Err(not("this GROUP BY")),
        }
    }

    fn order_by(&mut self, order_by: &OrderBy) -> Done {
        let OrderBy { kind, interpolate } = order_by;
        absent(interpolate.is_none(), "INTERPOLATE")?;
        match kind {
            OrderByKind::Expressions(expressions) => self.ordered(expressions),
            OrderByKind::All(_) => Err(not("ORDER BY ALL")),
        }
    }

    /// Checks a LIMIT: literals and markers only, as in the servers' grammars.
    fn limit(&self, limit: &LimitClause) -> Done {
        let is_value = |expression: &Expr| absent(matches!(expression, Expr::Value(_)), "this LIMIT");
        match limit {
            LimitClause::LimitOffset { limit, offset, limit_by } => {
                absent(limit_by.is_empty(), "LIMIT BY")?;
                limit.iter().chain(offset.iter().map(|offset| &offset.value)).try_for_each(is_value)
            }
            LimitClause::OffsetCommaLimit { offset, limit } => {
                is_value(offset)?;
                is_value(limit)
            }
        }
    }

    fn table_with_joins(&mut self, table: &TableWithJoins) -> Done {
        let TableWithJoins { relation, joins } = table;
        self.factor(relation)?;
        joins.iter().try_for_each(|join| self.join(join))
    }

    fn join(&mut self, join: &Join) -> Done {
        let Join { relation, global, join_operator } = join;
        absent(!global, "GLOBAL JOIN")?;
        self.census.joins += 1;
        self.factor(relation)?;
        match join_operator {
            JoinOperator::Join(constraint) => match constraint {
                JoinConstraint::On(condition) => self.expression(condition),
                JoinConstraint::Using(_) | JoinConstraint::Natural | JoinConstraint::None => Ok(()),
            },
            // `feed` makes one kind of join of all joins.
            _ => Err(not("this JOIN")),
        }
    }

    fn factor(&mut self, factor: &TableFactor) -> Done {
        match factor {
            TableFactor::Table {
                name,
                alias: _,
                args,
                with_hints,
                version,
                with_ordinality,
                partitions,
                json_path,
                sample,
                index_hints,
            } => {
                absent(args.is_none() && !with_ordinality && json_path.is_none(), "a table function")?;
                absent(with_hints.is_empty() && index_hints.is_empty(), "this hint")?;
                absent(version.is_none() && sample.is_none(), "a version or sample of a table")?;
                absent(partitions.is_empty(), "this PARTITION")?;
                self.table(name)
            }
            TableFactor::Derived { lateral: _, subquery, alias: _, sample } => {
                absent(sample.is_none(), "a sample of a table")?;
                self.query(subquery)
            }
            TableFactor::NestedJoin { table_with_joins, alias: _ } => self.table_with_joins(table_with_joins),
            _ => Err(not("this kind of table")),
        }
    }

    fn table(&mut self, name: &ObjectName) -> Done {
        let idents: Vec<&Ident> = name
            .0
            .iter()
            .map(|part| match part {
                ObjectNamePart::Identifier(ident) => Ok(ident),
                ObjectNamePart::Function(_) => Err(not("a computed name")),
            })
            .collect::<Result<_, _>>()?;
        let table = match idents.as_slice() {
            [only] if only.quote_style.is_none() && only.value.eq_ignore_ascii_case("dual") => return Ok(()),
            [only] if self.scope.contains(&only.value) => return Ok(()),
            [only] => TableName::bare(only.value.as_str()),
            [schema, name] => TableName::of(schema.value.as_str(), name.value.as_str()),
            _ => return Err(not("a name of three parts")),
        };
        self.note(table)
    }

    fn note(&mut self, table: TableName) -> Done {
        let schema = table.schema.as_deref().unwrap_or_default();
        if !table.name.is_ascii() || !schema.is_ascii() {
            // It is not known here which names the server takes for that of a common table expression.
            let is_known = self.modes.utf8_names && self.scope.is_empty();
            let is_short = |name: &str| name.chars().all(|char| char.len_utf8() <= NAME_CHAR_BYTES_MAX);
            if !is_known || !is_short(&table.name) || !is_short(schema) {
                return Err(Reason::NameBeyondAscii);
            }
        }
        if is_system_schema(schema) {
            return Err(Reason::SystemSchema(schema.to_ascii_lowercase()));
        }
        self.named += 1;
        if !self.tables.contains(&table) {
            self.tables.push(table);
        }
        Ok(())
    }
}
