//! The file in the state directory that keeps created caches over restarts: one line per cache, with tabs between its parts.
//!
//! The file is replaced as a whole, like the file of SET PERSIST.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use freshet_sql::Method;

use super::cache::{CacheOptions, CreatedCache, NamedQuery, Policy};

/// The file's name in the state directory.
const FILE: &str = "caches.tsv";
const NEW_FILE: &str = "caches.tsv.new";
/// The longest file that Freshet reads, in bytes.
const FILE_BYTES_MAX: u64 = 256 << 20;
const HEAD: &str = "# Written by CREATE CACHE and DROP CACHE: name, default schema, options, query.\n";

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system refuses it.
    #[error("{}: {source}", path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A line is not understood.
    #[error("{}, line {line}: a name, a schema, options and a query are expected, with tabs between them", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
    },
}

/// Returns the caches in the file; none if there is no file.
pub(super) fn load(directory: &Path) -> Result<Vec<CreatedCache>, FileError> {
    let path = directory.join(FILE);
    let text = match read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(FileError::System { path, source }),
    };
    let lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#') && !line.is_empty());
    lines
        .map(|(at, line)| cache(line).ok_or_else(|| FileError::Line { path: path.clone(), line: at + 1 }))
        .collect()
}

fn cache(line: &str) -> Option<CreatedCache> {
    let mut parts = line.split('\t').map(unescaped);
    let (name, schema, options, text) = (parts.next()??, parts.next()??, parts.next()??, parts.next()??);
    if parts.next().is_some() {
        return None;
    }
    let query = NamedQuery::new(Some(&*schema).filter(|schema| !schema.is_empty()), text);
    Some(CreatedCache::new(query, name, &schema, options_of(&options)?))
}

const ALWAYS: &str = "ALWAYS";
const DEEP: &str = "DEEP";
const SHALLOW: &str = "SHALLOW";
const TTL: &str = "TTL=";
const REFRESH: &str = "REFRESH=";

fn options_of(words: &str) -> Option<CacheOptions> {
    words.split_whitespace().try_fold(CacheOptions::default(), |options, word| match word {
        ALWAYS => Some(CacheOptions { always: true, ..options }),
        DEEP => Some(CacheOptions { method: Some(Method::Deep), ..options }),
        SHALLOW => Some(CacheOptions { method: Some(Method::Shallow), ..options }),
        _ => Some(CacheOptions { policy: Some(policy_with(options.policy, word)?), ..options }),
    })
}

/// Returns a policy with one more of its two parts; the TTL is the first part.
fn policy_with(policy: Option<Policy>, word: &str) -> Option<Policy> {
    let seconds = |word: &str| word.parse().ok().filter(|seconds| *seconds > 0);
    match policy {
        None => Some(Policy { ttl_s: seconds(word.strip_prefix(TTL)?)?, refresh_s: None }),
        Some(policy) => {
            let refresh_s =
                seconds(word.strip_prefix(REFRESH)?).filter(|refresh| *refresh <= policy.ttl_s)?;
            Some(Policy { refresh_s: Some(refresh_s), ..policy })
        }
    }
}

fn words_of(CacheOptions { always, method, policy, .. }: CacheOptions) -> Vec<String> {
    let method = method.map(|method| match method {
        Method::Deep => DEEP,
        Method::Shallow => SHALLOW,
    });
    let words = method.into_iter().chain(always.then_some(ALWAYS)).map(str::to_owned);
    let ttl = policy.map(|policy| format!("{TTL}{}", policy.ttl_s));
    let refresh = policy.and_then(|policy| policy.refresh_s).map(|seconds| format!("{REFRESH}{seconds}"));
    words.chain(ttl).chain(refresh).collect()
}

/// Writes the file with these caches.
pub(super) fn write<'a>(
    directory: &Path,
    caches: impl Iterator<Item = &'a Arc<CreatedCache>>,
) -> Result<(), FileError> {
    let mut text = HEAD.to_owned();
    // Caches that Freshet has created by itself are created again if they pay.
    for cache in caches.filter(|cache| !cache.options.is_automatic) {
        let options = words_of(cache.options).join(" ");
        let parts = [&*cache.name, &*cache.schema, &*options, &*cache.query.text].map(escaped);
        text.push_str(&parts.join("\t"));
        text.push('\n');
    }
    let new = directory.join(NEW_FILE);
    replace(directory, &new, &text).map_err(|source| FileError::System { path: new, source })
}

fn replace(directory: &Path, new: &Path, text: &str) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    let mut file = File::create(new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(new, directory.join(FILE))?;
    File::open(directory)?.sync_all()
}

fn read(path: &Path) -> io::Result<String> {
    if fs::metadata(path)?.len() > FILE_BYTES_MAX {
        return Err(io::Error::other("it is too long to be what CREATE CACHE has written"));
    }
    fs::read_to_string(path)
}

fn escaped(part: &str) -> String {
    let mut out = String::with_capacity(part.len());
    for character in part.chars() {
        match character {
            '\\' => out.push_str("\\\\"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            other => out.push(other),
        }
    }
    out
}

fn unescaped(part: &str) -> Option<String> {
    let mut out = String::with_capacity(part.len());
    let mut characters = part.chars();
    while let Some(character) = characters.next() {
        out.push(match character {
            '\\' => match characters.next()? {
                '\\' => '\\',
                't' => '\t',
                'n' => '\n',
                'r' => '\r',
                _ => return None,
            },
            other => other,
        });
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::created::CreatedCaches;

    #[test]
    fn what_was_created_is_there_after_a_restart_under_the_same_id() {
        let directory = std::env::temp_dir().join(format!("freshet-created-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        let caches = CreatedCaches::new(Some(directory.clone()));
        caches.load().unwrap();
        let query = NamedQuery::new(Some("s"), "SELECT `a\tb\\` FROM `t` WHERE `c` = $1".to_owned());
        let policy = Some(Policy { ttl_s: 10, refresh_s: Some(2) });
        let options =
            CacheOptions { always: true, method: Some(Method::Shallow), policy, ..CacheOptions::default() };
        caches.create(CreatedCache::new(query.clone(), "mine".to_owned(), "s", options)).unwrap();
        let other = NamedQuery::new(None, "SELECT `x` FROM `s`.`t`".to_owned());
        caches
            .create(CreatedCache::new(other.clone(), "other".to_owned(), "", CacheOptions::default()))
            .unwrap();
        // What nobody has created comes again where it pays.
        let paying = NamedQuery::new(None, "SELECT `y` FROM `s`.`t`".to_owned());
        let automatic = CacheOptions { is_automatic: true, ..CacheOptions::default() };
        caches.create(CreatedCache::new(paying.clone(), "paying".to_owned(), "", automatic)).unwrap();
        // Half of a new file, as a kill leaves it.
        fs::write(directory.join(NEW_FILE), "half").unwrap();
        let again = CreatedCaches::new(Some(directory.clone()));
        again.load().unwrap();
        assert!(again.of(paying.id).is_none());
        let found = again.of(query.id).unwrap();
        assert_eq!(
            (&found.query, &*found.name, &*found.schema, found.options),
            (&query, "mine", "s", options)
        );
        assert_eq!(again.drop_where(|cache| cache.name == "mine").unwrap(), 1);
        let last = CreatedCaches::new(Some(directory.clone()));
        last.load().unwrap();
        assert_eq!(last.all().iter().map(|cache| cache.query.id).collect::<Vec<_>>(), [other.id]);
        fs::write(directory.join(FILE), "a\tb\n").unwrap();
        let error = last.load().unwrap_err().to_string();
        assert!(error.contains("line 1"), "{error}");
        fs::remove_dir_all(directory).unwrap();
    }
}
