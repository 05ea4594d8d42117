//! Texts of SQL in, facts about them out.
//!
//! This crate tells what a statement is, what it may change, what its digest is, and whether its result depends only on the tables that
//! it names. It refuses to know connections, the actual schemas, caches and policies: it sees only the bytes of one text and the modes in
//! which they are to be read. Every function is total, and answers with the worse case where it does not understand the text: not
//! cacheable, writes everything.
//!
//! Its shape: one lexer that cuts exactly as the servers do; quick answers from tokens for every request; and a full parser, which is
//! asked once for each template and is fed with our tokens, so that only one lexer has to be right. One reading of the clauses (`rows`)
//! tells the rows, and also the plan form of a SELECT ([`ParsedSelect`]).

// A text as tokens, and a walk over them.
mod multi_byte;
mod modes;
mod token;
mod words;
mod string;
mod lex;
mod tokens;
mod cursor;
mod functions;
mod collation;

// The meanings of words, hints and names in a text.
mod hint;
mod reason;
mod calls;
mod reserved;
mod reads;
mod scan;
mod statement;

// The kind of a statement, and its effects.
mod ddl;
mod alteration;
mod user_variables;
mod deprecated;
mod body;
mod effects;
mod ours;
mod explained;
mod kill;
mod prepared;
mod transaction;
mod session_status;
mod settings_shown;
mod warnings;
mod process_list;
mod found_rows;
mod merged;
mod binlog;
mod request;

// The common parts of statements of one form.
mod markers;
mod key;
mod shape;
mod rewritten;

// Whether a result depends on rows alone, and on which rows.
mod analysis;
mod by_names;
mod dated;
mod rows;

pub use alteration::{Alteration, AlteredColumn};
pub use analysis::{Analysis, analyse, is_system_schema, pure_expression, tables_at_a_moment};
pub use binlog::{BinlogEffect, Boundary, OnRights, Xid, binlog_effect};
pub use body::{BodyEffects, BodyWrite, routine_body, trigger_body};
pub use by_names::ByNames;
pub use calls::{Call, Calls, RoutineKind};
pub use collation::Collation;
pub use ddl::user_name;
pub use deprecated::{Deprecated, Deprecations};
pub use effects::{Around, Defines, Effects, Temporary, TrackingEffect, TransactionEffect, Writes, effects};
pub use explained::explained;
pub use found_rows::{asks_found_rows, keeps_found_rows, names_found_rows, returns_what_it_finds};
pub use hint::{Hint, HintError};
pub use key::{before_first_value, hint, hint_error, is_one_select, key_text, may_be_hinted, strip_hint};
pub use kill::{Kill, PreparedKill, kill_by_variable, kills, prepared_kill};
pub use lex::contains_ignoring_case;
pub use markers::compared_markers;
pub use merged::merged_tables;
pub use modes::{Flavor, Modes, OLDEST_MARIADB, OLDEST_MYSQL, TableName};
pub use multi_byte::MultiByte;
pub use ours::{
    AssignedValue, Assignment, CacheHint, CacheSource, CacheStatement, ConnectionNumber, CreateCache, Keeps,
    LikeFilter, Lists, Made, Mention, Mentioned, Method, Ours, Piece, Scope, SelectedVariable, ShowFilter,
    cache_hint, empties, may_mention, mentions, pieces, row_counts, skips_cache,
};
pub use prepared::{TextPrepared, Using, markers, text_prepared, with_values};
pub use process_list::{ProcessList, process_list};
pub use reads::Reads;
pub use reason::Reason;
pub use request::{Request, read};
pub use rewritten::{rewritten, with_markers};
pub use rows::{
    ColumnsRead, Condition, DataType, Datum, Given, Input, InputColumn, Occurrence, OnDuplicate,
    ParsedSelect, Pin, Places, QueryPlan, Relation, ResultColumn, RowReads, RowWrite, RowWrites, Scalar,
    Skeleton, Slotted, TableDefinition, Unplanned, View, call_arguments, row_reads, row_reads_of, row_write,
    row_writes,
};
pub use session_status::{SessionStatus, StatusName, lists_session_status, session_status};
pub use settings_shown::shows_settings_alone;
pub use shape::{Shape, shape};
pub use tokens::{TokenBuffer, Tokens};
pub use transaction::{
    Characteristics, Completion, Isolation, TransactionControl, may_control_transaction, transaction_control,
};
pub use user_variables::{UserVariable, user_variables_set};
pub use warnings::{AsksWarnings, asks_warnings};
