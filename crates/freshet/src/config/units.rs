//! Sizes and times as people write them.

/// Reads `4096`, `64K`, `1M`, `1MiB`, `2G`: bytes, in powers of 1024.
pub fn bytes(text: &str) -> Option<u64> {
    let (digits, unit) = split(text)?;
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        _ => return None,
    };
    digits.checked_mul(factor)
}

/// Reads `200ms`, `10s`, `10`, `5m`, `8h`, `1d`: milliseconds; a bare number means seconds.
pub fn milliseconds(text: &str) -> Option<u64> {
    let (digits, unit) = split(text)?;
    let factor = match unit.to_ascii_lowercase().as_str() {
        "ms" => 1,
        "" | "s" => 1000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    digits.checked_mul(factor)
}

/// Returns a whole number and the unit behind it.
fn split(text: &str) -> Option<(u64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text.get(..end)?.parse().ok()?, text.get(end..)?.trim_start()))
}

#[cfg(test)]
mod tests;
