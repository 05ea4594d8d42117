//! The variables that there are, in one table. A variable of ProxySQL's that is not here has no meaning in Freshet.

/// One variable.
pub struct Variable {
    /// Its name, with the part before the dash.
    pub name: &'static str,
    /// Whether it can be set while the program runs.
    pub is_set_here: bool,
}

const fn set(name: &'static str) -> Variable {
    Variable { name, is_set_here: true }
}

const fn shown(name: &'static str) -> Variable {
    Variable { name, is_set_here: false }
}

/// All of them, by name.
pub static VARIABLES: [Variable; 11] = [
    shown("admin-version"),
    shown("mysql-interfaces"),
    shown("mysql-max_connections"),
    set("mysql-query_cache_rules_only"),
    set("mysql-query_cache_size_MB"),
    set("mysql-query_cache_soft_ttl_pct"),
    set("mysql-query_cache_stores_empty_result"),
    shown("mysql-server_version"),
    shown("mysql-threads"),
    set("mysql-threshold_resultset_size"),
    shown("mysql-wait_timeout"),
];

/// The variable of this name, in any letters.
pub fn find(name: &str) -> Option<&'static Variable> {
    VARIABLES.iter().find(|variable| variable.name.eq_ignore_ascii_case(name))
}
