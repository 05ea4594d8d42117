//! The column `attributes`: a JSON object.

use serde_json::Value;

/// The attributes of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Attributes {
    /// `"freshness"`: `"ttl"` lets answers be stale, `"proven"` takes back what an earlier rule said.
    pub(crate) is_bargain: Option<bool>,
}

impl Attributes {
    /// Reads attributes. An empty text is an object without members.
    ///
    /// # Errors
    /// The text is no JSON object, or names an attribute that is not carried out.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let value: Value =
            serde_json::from_str(text).map_err(|error| format!("attributes are no JSON: {error}"))?;
        let Value::Object(members) = value else { return Err("attributes are no JSON object".to_owned()) };
        let mut attributes = Self::default();
        for (name, value) in &members {
            attributes.is_bargain = match (name.as_str(), value.as_str()) {
                ("freshness", Some("ttl")) => Some(true),
                ("freshness", Some("proven")) => Some(false),
                ("freshness", _) => {
                    return Err(format!("attributes: freshness is \"ttl\" or \"proven\", not {value}"));
                }
                _ => return Err(format!("Freshet does not carry out the attribute \"{name}\"")),
            };
        }
        Ok(attributes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_an_object_of_what_is_carried_out() {
        let read = |text: &str| Attributes::read(text).map(|read| read.is_bargain);
        for text in ["", " ", "{}", " { } "] {
            assert_eq!(read(text), Ok(None));
        }
        assert_eq!(read(r#"{"freshness":"ttl"}"#), Ok(Some(true)));
        assert_eq!(read(r#" { "freshness" : "\u0074tl" } "#), Ok(Some(true)));
        assert_eq!(read(r#"{"freshness":"proven"}"#), Ok(Some(false)));
        let wrong =
            ["{", "[]", "1", "\"ttl\"", r#"{"freshness":1}"#, r#"{"freshness":"x"}"#, r#"{"a":{}}"#, "{} x"];
        for text in wrong {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
