//! The user variables of a session whose values are certain: a plain `SET @a = 1` gave them, and nothing has run
//! since that could have changed them.

use ahash::HashMap;
use freshet_sql::UserVariable;

/// The most variables that are known at a time.
const VARIABLES_MAX: usize = 64;
/// The longest string that is kept, in bytes.
const TEXT_BYTES_MAX: usize = 1024;
/// The most digits of an integer that certainly fits into 64 bits.
const DIGITS_MAX: usize = 18;

/// A value, as the SET wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UserValue {
    /// An integer: a BIGINT.
    Int(i64),
    /// A string of printable ASCII, in the collation of the session's environment of this identity.
    Text(Vec<u8>, u32),
}

impl UserValue {
    /// Returns the value of a literal, if Freshet can keep it. The collation of a string is known only with the environment.
    fn of(literal: &[u8], environment: Option<u32>) -> Option<Self> {
        if let Some(text) = literal.strip_prefix(b"'").and_then(|rest| rest.strip_suffix(b"'")) {
            let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'\'' | b'\\');
            let is_known = (1..=TEXT_BYTES_MAX).contains(&text.len()) && text.iter().all(is_plain);
            return environment
                .filter(|_| is_known)
                .map(|environment| Self::Text(text.to_vec(), environment));
        }
        let digits = literal.strip_prefix(b"-").unwrap_or(literal);
        let is_integer = (1..=DIGITS_MAX).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
        let text = std::str::from_utf8(literal).ok().filter(|_| is_integer)?;
        text.parse().ok().map(Self::Int)
    }
}

/// All known variables of one session, by their names in lower case.
#[derive(Debug, Default)]
pub(crate) struct UserVariables(HashMap<String, UserValue>);

impl UserVariables {
    /// Returns the value of a variable, if it is known, in a session whose environment has this identity now.
    pub(crate) fn get(&self, name: &str, environment: u32) -> Option<&UserValue> {
        self.0.get(name).filter(|value| !matches!(value, UserValue::Text(_, then) if *then != environment))
    }

    /// Notes that a SET gave these values in the environment of this identity, if that is known.
    pub(crate) fn set(&mut self, variables: Vec<UserVariable>, environment: Option<u32>) {
        for UserVariable { name, literal } in variables {
            match UserValue::of(&literal, environment) {
                Some(value) if self.0.len() < VARIABLES_MAX || self.0.contains_key(&name) => {
                    self.0.insert(name, value);
                }
                _ => {
                    self.0.remove(&name);
                }
            }
        }
    }

    /// Forgets all values, because anything may have changed them.
    pub(crate) fn forget(&mut self) {
        if !self.0.is_empty() {
            self.0.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_certain_is_known() {
        let mut known = UserVariables::default();
        let mut set = |literal: &[u8]| {
            known.set(vec![UserVariable { name: "a".into(), literal: literal.to_vec() }], Some(1));
            known.get("a", 1).cloned()
        };
        assert_eq!(set(b"1"), Some(UserValue::Int(1)));
        assert_eq!(set(b"-7"), Some(UserValue::Int(-7)));
        assert_eq!(set(b"'a b'"), Some(UserValue::Text(b"a b".to_vec(), 1)));
        for literal in
            [&b"1.5"[..], b"1e3", b"NULL", b"''", b"'a''b'", b"\"a\"", b"'\\n'", b"9999999999999999999"]
        {
            assert_eq!(set(literal), None, "{literal:?}");
        }
        set(b"'a'");
        assert_eq!(known.get("a", 2), None, "its collation may be another than one that is set now");
        known.set(vec![UserVariable { name: "b".into(), literal: b"2".to_vec() }], None);
        assert_eq!(known.get("b", 1), Some(&UserValue::Int(2)), "it is the same in any");
        known.set(vec![UserVariable { name: "b".into(), literal: b"'2'".to_vec() }], None);
        assert_eq!(known.get("b", 1), None);
        known.forget();
        assert_eq!(known.get("a", 1), None);
    }
}
