//! Expressions: subqueries are walked, calls are looked up, the rest is values.

use sqlparser::ast::{
    CaseWhen, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments,
    ObjectNamePart, OrderByExpr, WindowSpec, WindowType,
};

use super::{Done, Walk, absent, not};
use crate::functions::{self, FunctionClass};
use crate::reason::Reason;

impl Walk {
    pub(super) fn expressions(&mut self, expressions: &[Expr]) -> Done {
        expressions.iter().try_for_each(|expression| self.expression(expression))
    }

    /// Walks an expression. A chain of operators hangs to the left, and is walked without recursion.
    pub(super) fn expression(&mut self, mut expression: &Expr) -> Done {
        while let Expr::BinaryOp { left, op: _, right } = expression {
            self.expression(right)?;
            expression = left;
        }
        match expression {
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_) => Ok(()),
            Expr::Wildcard(_) | Expr::QualifiedWildcard(..) => Ok(()),
            Expr::BinaryOp { .. } => Err(not("this operator")),
            Expr::Nested(inner) => self.expression(inner),
            Expr::Tuple(items) => self.expressions(items),
            Expr::Subquery(query) => self.query(query),
            Expr::Function(function) => self.call(function),
            Expr::Case { case_token: _, end_token: _, operand, conditions, else_result } => {
                operand.iter().chain(else_result).try_for_each(|part| self.expression(part))?;
                for CaseWhen { condition, result } in conditions {
                    self.expression(condition)?;
                    self.expression(result)?;
                }
                Ok(())
            }
            _ => Err(not("this expression")),
        }
    }

    fn call(&mut self, function: &Function) -> Done {
        let Function {
            name,
            uses_odbc_syntax: _,
            parameters,
            args,
            within_group,
            filter,
            null_treatment,
            over,
        } = function;
        absent(matches!(parameters, FunctionArguments::None), "a parameter of a function")?;
        absent(filter.is_none() && null_treatment.is_none(), "FILTER or NULLS")?;
        let [ObjectNamePart::Identifier(ident)] = name.0.as_slice() else {
            return Err(Reason::UnknownFunction(name.to_string()));
        };
        let called = ident.value.to_ascii_uppercase();
        if ident.quote_style.is_some() {
            return Err(Reason::UnknownFunction(called));
        }
        let arguments = self.arguments(args)?;
        let is_admitted =
            self.admits.admits(called.as_bytes()) && functions::is_itself_with(called.as_bytes(), arguments);
        match functions::class(called.as_bytes(), false, self.modes) {
            FunctionClass::Pure | FunctionClass::Volatile if is_admitted => {}
            FunctionClass::Pure if !functions::is_pure_with(called.as_bytes(), arguments) => {
                return Err(Reason::Volatile(called));
            }
            FunctionClass::Pure => {}
            FunctionClass::Unknown => return Err(Reason::UnknownFunction(called)),
            FunctionClass::Volatile | FunctionClass::LastStatement | FunctionClass::Session => {
                return Err(Reason::Volatile(called));
            }
        }
        self.ordered(within_group)?;
        match over {
            None | Some(WindowType::NamedWindow(_)) => Ok(()),
            Some(WindowType::WindowSpec(spec)) => self.window(spec),
        }
    }

    /// Walks the arguments and counts them.
    fn arguments(&mut self, arguments: &FunctionArguments) -> Result<usize, Reason> {
        match arguments {
            FunctionArguments::None => Err(not("a function without parentheses")),
            FunctionArguments::Subquery(query) => self.query(query).map(|()| 1),
            FunctionArguments::List(FunctionArgumentList { duplicate_treatment: _, args, clauses }) => {
                absent(clauses.is_empty(), "a clause in a function")?;
                args.iter().try_for_each(|argument| self.argument(argument))?;
                Ok(args.len())
            }
        }
    }

    fn argument(&mut self, argument: &FunctionArg) -> Done {
        match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expression)) => self.expression(expression),
            FunctionArg::Unnamed(FunctionArgExpr::Wildcard | FunctionArgExpr::QualifiedWildcard(_)) => Ok(()),
            FunctionArg::Unnamed(FunctionArgExpr::WildcardWithOptions(_))
            | FunctionArg::Named { .. }
            | FunctionArg::ExprNamed { .. } => Err(not("a named argument")),
        }
    }

    pub(super) fn ordered(&mut self, expressions: &[OrderByExpr]) -> Done {
        for OrderByExpr { expr, options: _, with_fill } in expressions {
            absent(with_fill.is_none(), "WITH FILL")?;
            self.expression(expr)?;
        }
        Ok(())
    }

    pub(super) fn window(&mut self, window: &WindowSpec) -> Done {
        let WindowSpec { window_name: _, partition_by, order_by, window_frame } = window;
        absent(window_frame.is_none(), "this frame of a window")?;
        self.expressions(partition_by)?;
        self.ordered(order_by)
    }
}
