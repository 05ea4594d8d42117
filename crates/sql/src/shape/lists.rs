//! Long lists of literals, and long lists of such lists, are cut short.

/// A list of more than one item beyond this is cut to this many items and `...`.
const ITEMS: usize = 3;
/// The same limit for lists of lists, as in a bulk INSERT.
const GROUPS: usize = 10;

/// Cuts `?,?,?,?,?` to `?,?,?,...`, and then `(?),(?),…` in the same way.
pub(super) fn group(text: &[u8]) -> Vec<u8> {
    let items = cut(text, ITEMS, |rest| rest.first().filter(|&&byte| byte == b'?').map(|_| 1));
    cut(&items, GROUPS, group_len)
}

/// Cuts runs of items that are joined by commas. `item` gives the length of the item with which a text starts.
fn cut(text: &[u8], limit: usize, item: fn(&[u8]) -> Option<usize>) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if let Some(quoted) = quoted_len(rest) {
            out.extend(rest.iter().take(quoted));
            at += quoted;
            continue;
        }
        let Some(run) = Run::at(rest, limit, item) else {
            out.extend(rest.first());
            at += 1;
            continue;
        };
        if run.count > limit + 1 {
            out.extend(rest.iter().take(run.kept));
            out.extend_from_slice(b",...");
        } else {
            out.extend(rest.iter().take(run.len));
        }
        at += run.len;
    }
    out
}

/// Returns the length of a quoted name, which is copied whatever is in it.
fn quoted_len(text: &[u8]) -> Option<usize> {
    let quote = *text.first().filter(|&&byte| byte == b'`' || byte == b'"')?;
    let close = text.iter().skip(1).position(|&byte| byte == quote)?;
    Some(close + 2)
}

/// A run of items with commas between them.
struct Run {
    count: usize,
    /// Its length.
    len: usize,
    /// The length of its first items, up to the limit.
    kept: usize,
}

impl Run {
    fn at(text: &[u8], limit: usize, item: fn(&[u8]) -> Option<usize>) -> Option<Run> {
        let mut len = item(text)?;
        let mut run = Run { count: 1, len, kept: len };
        while let Some(next) = text.get(len..).and_then(|rest| rest.strip_prefix(b",")).and_then(item) {
            len += 1 + next;
            run.count += 1;
            run.len = len;
            if run.count <= limit {
                run.kept = len;
            }
        }
        Some(run)
    }
}

/// Returns the length of `(?,?,?)` or `(?,?,?,...)`.
fn group_len(text: &[u8]) -> Option<usize> {
    let inner = text.strip_prefix(b"(")?;
    let len = inner.iter().position(|&byte| !matches!(byte, b'?' | b',' | b'.'))?;
    (len > 0 && inner.get(len) == Some(&b')')).then_some(len + 2)
}
