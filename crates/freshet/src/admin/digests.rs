//! The variables `mysql-query_digests_…`: how texts are normalised, each as a name and a part of [`Options`].

use freshet_digest::Options;

/// The least and the most that a length may be, in bytes.
const LENGTHS: (usize, usize) = (16, 1 << 20);
/// The least and the greatest limit of a list. 0: lists keep their length.
const LIMITS: (usize, usize) = (0, 2089);

/// A part of the options.
enum Part {
    /// A number, with its least and its greatest value.
    Number((usize, usize), fn(&mut Options) -> &mut usize),
    /// True or false.
    Truth(fn(&mut Options) -> &mut bool),
}
use Part::{Number, Truth};

/// All of them, by name.
static PARTS: [(&str, Part); 8] = [
    ("mysql-query_digests_grouping_limit", Number(LIMITS, |it| &mut it.grouping_limit)),
    ("mysql-query_digests_groups_grouping_limit", Number(LIMITS, |it| &mut it.groups_grouping_limit)),
    ("mysql-query_digests_keep_comment", Truth(|it| &mut it.keep_comment)),
    ("mysql-query_digests_lowercase", Truth(|it| &mut it.lowercase)),
    ("mysql-query_digests_max_digest_length", Number(LENGTHS, |it| &mut it.digest_length_max)),
    ("mysql-query_digests_max_query_length", Number(LENGTHS, |it| &mut it.query_length_max)),
    ("mysql-query_digests_no_digits", Truth(|it| &mut it.no_digits)),
    ("mysql-query_digests_replace_null", Truth(|it| &mut it.replace_null)),
];

fn part(name: &str) -> Option<&'static Part> {
    PARTS.iter().find(|(known, _)| *known == name).map(|(_, part)| part)
}

/// Returns the value of the variable of this name, if it is one of these.
pub(super) fn read(mut options: Options, name: &str) -> Option<String> {
    Some(match part(name)? {
        Number(_, of) => of(&mut options).to_string(),
        Truth(of) => of(&mut options).to_string(),
    })
}

/// Puts a value into the options; `None` if the variable of this name is none of these.
///
/// # Errors
/// The reason, if the value is not allowed.
pub(super) fn write(options: &mut Options, name: &str, value: &str) -> Option<Result<(), String>> {
    Some(match part(name)? {
        Number((least, most), of) => match value.parse() {
            Ok(number) if (*least..=*most).contains(&number) => {
                *of(options) = number;
                Ok(())
            }
            _ => Err(format!("'{value}' is no whole number from {least} to {most}")),
        },
        Truth(of) => truth(value).map(|is| *of(options) = is),
    })
}

/// Reads `true` or `false`, as for variables of ProxySQL's.
pub(super) fn truth(value: &str) -> Result<bool, String> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err(format!("'{value}' is neither true nor false")),
    }
}

#[cfg(test)]
mod tests {
    use super::{Options, PARTS, read, write};

    #[test]
    fn what_is_set_is_read_and_nothing_else_has_changed() {
        for (name, _) in &PARTS {
            let mut options = Options::default();
            let value = if read(options, name).unwrap() == "false" { "true" } else { "77" };
            assert_eq!(write(&mut options, name, value), Some(Ok(())), "{name}");
            assert_eq!(read(options, name).unwrap(), value, "{name}");
            for (other, _) in PARTS.iter().filter(|(other, _)| other != name) {
                assert_eq!(read(options, other), read(Options::default(), other), "{name} and {other}");
            }
            assert!(matches!(write(&mut options, name, "x"), Some(Err(_))), "{name}");
        }
        assert_eq!(write(&mut Options::default(), "mysql-threads", "1"), None);
    }
}
