//! Makes data in the form of the public sample database of employees and salaries: the same numbers of rows, columns and keys. The values
//! are made up, and are the same in each run.
//!
//! Salaries mostly rise from year to year and sometimes fall. So a query for employees who earn less than some years ago has to search,
//! and does not find everybody.

use std::fmt::Write as _;
use std::io::Write as _;

use crate::args::Args;
use crate::login;
use crate::table::say;
use crate::target::Failure;
use crate::wire::Wire;

const EMPLOYEES: u32 = 300_024;
const SALARIES: u32 = 2_844_047;
/// The first employee's number.
const FIRST: u32 = 10_001;
/// The least salary.
const LEAST: i64 = 38_623;
/// Three days: 1985-01-01 as days since 1970, the number of days after it on which the last employee is hired, and 2002-08-01 as days
/// since 1970, the last day in the data.
const HIRED_FROM: i64 = 5_479;
const HIRED_DAYS: u64 = 5_505;
const LAST_DAY: i64 = 11_900;
/// Rows for each INSERT.
const BATCH_ROWS: usize = 2_000;
/// The most salaries of one employee.
const YEARS_MAX: u32 = 18;
const FIRST_NAMES: [&str; 16] = [
    "Georgi",
    "Bezalel",
    "Parto",
    "Chirstian",
    "Kyoichi",
    "Anneke",
    "Tzvetan",
    "Saniya",
    "Sumant",
    "Duangkaew",
    "Mary",
    "Patricio",
    "Eberhardt",
    "Berni",
    "Guoxiang",
    "Kazuhito",
];
const LAST_NAMES: [&str; 16] = [
    "Facello",
    "Simmel",
    "Bamford",
    "Koblick",
    "Maliniak",
    "Preusig",
    "Zielinski",
    "Kalloufi",
    "Peac",
    "Piveteau",
    "Sluis",
    "Bridgland",
    "Terkki",
    "Genin",
    "Nooteboom",
    "Cappelletti",
];
const TABLES: [&str; 2] = [
    "CREATE TABLE employees (emp_no INT NOT NULL, birth_date DATE NOT NULL, first_name VARCHAR(14) NOT NULL, \
     last_name VARCHAR(16) NOT NULL, gender ENUM('M','F') NOT NULL, hire_date DATE NOT NULL, PRIMARY KEY (emp_no))",
    "CREATE TABLE salaries (emp_no INT NOT NULL, salary INT NOT NULL, from_date DATE NOT NULL, to_date DATE NOT NULL, \
     FOREIGN KEY (emp_no) REFERENCES employees (emp_no) ON DELETE CASCADE, PRIMARY KEY (emp_no, from_date))",
];

/// Makes schema, tables and rows anew through the first target.
///
/// # Errors
/// If there is no target, or it refuses.
pub async fn prepare(args: &Args) -> Result<(), Failure> {
    let target = args.targets.first().ok_or("there is no target")?;
    let mut wire = login::open(&args.account, target, "").await?;
    for statement in ["DROP DATABASE IF EXISTS", "CREATE DATABASE", "USE"] {
        say(&mut wire, &format!("{statement} {}", args.account.database)).await?;
    }
    for table in TABLES {
        say(&mut wire, table).await?;
    }
    let counts = counts();
    fill(&mut wire, "employees", (0..EMPLOYEES).map(employee)).await?;
    let salaries = (0..EMPLOYEES).flat_map(|at| salaries(at, counts[at as usize]));
    fill(&mut wire, "salaries", salaries).await?;
    for table in ["employees", "salaries"] {
        say(&mut wire, &format!("ANALYZE TABLE {table}")).await?;
    }
    let made = format!("{EMPLOYEES} employees and {SALARIES} salaries are in {}", args.account.database);
    Ok(writeln!(std::io::stdout(), "{made}")?)
}

async fn fill(wire: &mut Wire, table: &str, rows: impl Iterator<Item = String>) -> Result<(), Failure> {
    let mut rows = rows.peekable();
    while rows.peek().is_some() {
        let mut statement = format!("INSERT INTO {table} VALUES ");
        for (at, row) in rows.by_ref().take(BATCH_ROWS).enumerate() {
            write!(statement, "{}({row})", if at == 0 { "" } else { "," })?;
        }
        say(wire, &statement).await?;
    }
    Ok(())
}

/// Numbers that look random and are the same for the same seed: SplitMix64.
struct Numbers(u64);

impl Numbers {
    fn of(employee: u32, about: u64) -> Self {
        Self(u64::from(employee) << 8 | about)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % bound
    }
}

fn hired(at: u32) -> i64 {
    HIRED_FROM + Numbers::of(at, 0).below(HIRED_DAYS) as i64
}

fn employee(at: u32) -> String {
    let mut numbers = Numbers::of(at, 1);
    let mut name = |names: [&'static str; 16]| names[numbers.below(16) as usize];
    let (first, last) = (name(FIRST_NAMES), name(LAST_NAMES));
    let gender = if numbers.below(5) < 3 { 'M' } else { 'F' };
    let born = date(-6_544 + numbers.below(4_780) as i64);
    format!("{},'{born}','{first}','{last}','{gender}','{}'", FIRST + at, date(hired(at)))
}

/// Returns the number of salaries of each employee: at most as many as there are years until the last day, and in all as many as the
/// sample has.
fn counts() -> Vec<u32> {
    let most = |at: u32| (((LAST_DAY - hired(at)) / 365) as u32).clamp(1, YEARS_MAX);
    let mut counts: Vec<u32> = (0..EMPLOYEES)
        .map(|at| {
            let most = most(at);
            // Four of five employees are still there.
            let mut numbers = Numbers::of(at, 2);
            if numbers.below(5) > 0 { most } else { 1 + numbers.below(u64::from(most)) as u32 }
        })
        .collect();
    let mut sum: u32 = counts.iter().sum();
    for at in (0..counts.len()).cycle().take(YEARS_MAX as usize * counts.len()) {
        let count = &mut counts[at];
        if sum == SALARIES {
            break;
        }
        if sum < SALARIES && *count < YEARS_MAX {
            *count += 1;
            sum += 1;
        } else if sum > SALARIES && *count > 1 {
            *count -= 1;
            sum -= 1;
        }
    }
    counts
}

fn salaries(at: u32, count: u32) -> impl Iterator<Item = String> {
    let mut numbers = Numbers::of(at, 3);
    let mut salary = LEAST + numbers.below(30_000) as i64;
    let is_there_still = numbers.below(5) > 0;
    let hired = hired(at);
    (0..count).map(move |year| {
        let from = hired + 365 * i64::from(year);
        let to = match (year + 1 == count, is_there_still) {
            (true, true) => "9999-01-01".to_owned(),
            (true, false) => date(from + 1 + numbers.below(364) as i64),
            (false, _) => date(from + 365),
        };
        let row = format!("{},{salary},'{}','{to}'", FIRST + at, date(from));
        // One change in twenty-four lowers the salary.
        let change = numbers.below(4_500) as i64 - if numbers.below(24) == 0 { 4_500 } else { 0 };
        salary = (salary + change).max(LEAST);
        row
    })
}

/// Returns a day since 1970 as a date.
fn date(day: i64) -> String {
    // Years that begin in March, in eras of 400 years: Howard Hinnant, chrono-compatible low-level date algorithms.
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_rows_as_in_the_sample_and_some_earn_less_than_before() {
        let counts = counts();
        assert_eq!(counts.iter().sum::<u32>(), SALARIES);
        let falls = (0..2_000).filter(|at| {
            let rows: Vec<i64> = salaries(*at, counts[*at as usize])
                .map(|row| row.split(',').nth(1).unwrap_or_default().parse().unwrap_or(0))
                .collect();
            rows.iter().rev().skip(2).any(|before| Some(before) > rows.last())
        });
        let falls = falls.count();
        assert!((20..200).contains(&falls), "{falls} of 2,000");
    }

    #[test]
    fn days_are_dates() {
        for (day, expected) in
            [(0, "1970-01-01"), (11_016, "2000-02-29"), (HIRED_FROM, "1985-01-01"), (LAST_DAY, "2002-08-01")]
        {
            assert_eq!(date(day), expected);
        }
    }
}
