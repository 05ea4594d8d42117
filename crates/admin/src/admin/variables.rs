//! Variables: set in memory, and copied from one layer to the next.

use super::Admin;
use crate::accounts::Accounts;
use crate::command::{Copy, Module};
use crate::error::Refusal;
use crate::runtime::SqliteValue;
use crate::store::{Answer, Role};
use crate::variables::{self, Owner, VARIABLES, Variable};

impl Admin {
    /// Returns the accounts that may connect.
    pub(crate) fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// Carries out `SET name = value`, in memory.
    pub(super) fn set(&self, name: &str, value: &str) -> Result<Answer, Refusal> {
        let variable = variables::find(name).ok_or_else(|| Refusal::NoSuchVariable(name.to_owned()))?;
        if variable.of == Owner::Constant {
            return Err(Refusal::ReadOnlyVariable(variable.name.to_owned()));
        }
        let value = value.replace('\'', "''");
        let insert = "INSERT OR REPLACE INTO main.global_variables (variable_name, variable_value) VALUES";
        self.store.run(&format!("{insert} ('{}', '{value}')", variable.name), &[], Role::Own)?;
        Ok(Answer::Done { affected: 1, last_insert_id: 0, note: variable.note() })
    }

    /// Returns the present value of a variable; `None` for one that has no effect.
    fn value(&self, variable: Variable) -> Option<String> {
        match variable.of {
            Owner::Number(..) => Some(self.own.get(variable.name).to_string()),
            Owner::Accounts(role) => Some(self.accounts.text(role)),
            Owner::Nobody => None,
            Owner::Constant | Owner::Started | Owner::Program => self.runtime.variable(variable.name),
        }
    }

    /// Writes the present values of the variables into a table of variables. Rows of variables without an effect stay unchanged.
    pub(super) fn put_variables(&mut self, table: &str) -> Result<(), Refusal> {
        let row = |variable: &Variable| {
            Some(vec![SqliteValue::from(variable.name), SqliteValue::Text(self.value(*variable)?)])
        };
        let mut rows: Vec<_> = VARIABLES.iter().filter_map(row).collect();
        for kept in self.store.rows(&format!("SELECT variable_name, variable_value FROM {table}"))? {
            if let [Some(name), Some(value)] = &kept[..]
                && variables::find(name).is_none_or(|variable| variable.of == Owner::Nobody)
            {
                rows.push(vec![SqliteValue::Text(name.clone()), SqliteValue::Text(value.clone())]);
            }
        }
        self.store.replace(table, &rows)
    }

    /// Copies variables from one layer to the next. Variables that cannot be set here are neither saved nor loaded: they have the values
    /// with which the program was started.
    pub(super) fn copy_variables(&mut self, module: Module, copy: Copy) -> Result<Answer, Refusal> {
        let begins = if module == Module::Variables { "mysql-" } else { "admin-" };
        match copy {
            Copy::MemoryToRuntime => return self.load_variables(begins),
            Copy::RuntimeToMemory => self.put_variables("main.global_variables")?,
            Copy::MemoryToDisk | Copy::DiskToMemory => {
                let (from, to) = if copy == Copy::MemoryToDisk { ("main", "disk") } else { ("disk", "main") };
                let fixed: Vec<String> = VARIABLES
                    .iter()
                    .filter(|variable| !variable.is_kept())
                    .map(|variable| format!("'{}'", variable.name))
                    .collect();
                self.store.all_or_none(&[format!(
                    "INSERT OR REPLACE INTO {to}.global_variables SELECT * FROM {from}.global_variables \
                     WHERE variable_name LIKE '{begins}%' AND variable_name NOT IN ({})",
                    fixed.join(",")
                )])?;
            }
        }
        Ok(Answer::ok())
    }

    /// Makes the variables of memory count. A wrong value of one does not keep the others from counting, as in ProxySQL. The answer names
    /// variables without an effect.
    fn load_variables(&mut self, begins: &str) -> Result<Answer, Refusal> {
        let query = format!(
            "SELECT variable_name, variable_value FROM main.global_variables WHERE variable_name LIKE '{begins}%'"
        );
        let (mut loaded, mut idle) = (Ok(()), Vec::new());
        for row in self.store.rows(&query)? {
            let [Some(name), Some(value)] = &row[..] else { continue };
            let Some(variable) = variables::find(name) else { continue };
            let set = match variable.of {
                Owner::Number(..) => self.own.set(variable, value),
                Owner::Accounts(role) => self.accounts.set(role, value),
                Owner::Program => self.runtime.set_variable(variable.name, value),
                Owner::Constant | Owner::Started | Owner::Nobody => {
                    if self.value(variable).is_none_or(|counts| counts != *value) {
                        idle.push(format!("{}: {}", variable.name, variable.note()));
                    }
                    Ok(())
                }
            };
            let set = set.map_err(|why| Refusal::NotLoaded(format!("{}: {why}", variable.name)));
            loaded = loaded.and(set);
        }
        loaded?;
        for idle in &idle {
            tracing::warn!("a variable is loaded that has no effect: {idle}");
        }
        Ok(Answer::Done { affected: 0, last_insert_id: 0, note: idle.join("; ") })
    }
}
