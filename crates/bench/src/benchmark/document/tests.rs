use std::fs;
use std::time::Duration;

use clap::Parser;

use super::*;
use crate::benchmark::column::{Column, Role};
use crate::benchmark::measured::Row;
use crate::benchmark::options::Options;
use crate::benchmark::plan::tables;
use crate::benchmark::sample::Sample;

#[derive(Parser)]
struct Wanted {
    #[command(flatten)]
    options: Options,
}

fn options(out: &str) -> Options {
    let clients =
        ["test", "--column", "a:direct=a:1", "--clients", "1,64", "--round-ms", "600", "--out", out];
    Wanted::parse_from(clients.iter().chain(&["--says", "Made by a test."])).options
}

fn columns() -> Vec<Column> {
    let column = |name: &str, role, group: Option<&str>, version: &str| Column {
        title: name.to_owned(),
        role,
        group: group.map(str::to_owned),
        version: version.to_owned(),
        target: format!("{name}=127.0.0.1:1").parse().unwrap(),
    };
    let (maria, mysql) = ("10.11.19-MariaDB", "9.7.4-2");
    vec![
        column("direct", Role::Direct, Some("mariadb"), maria),
        column("native cache", Role::Native, Some("mariadb"), maria),
        column("Freshet", Role::Freshet, Some("mariadb"), maria),
        column("direct", Role::Direct, Some("mysql"), mysql),
        column("Freshet", Role::Freshet, Some("mysql"), mysql),
        column("floor", Role::Floor, None, "7"),
    ]
}

/// Two rounds of each column, the later ones the faster.
fn row(at: &str, many: f64, columns: usize) -> Row {
    let mut row = Row { at: at.to_owned(), ..Row::default() };
    for round in [1.0, 1.1] {
        for column in 0..columns {
            let times = f64::from(column as u32 + 1);
            let sample = Sample {
                per_second: 1_000.0 * many * times * round,
                p50_us: 64.0 / times / round,
                p99_us: 640.0 / times,
                p999_us: 6_400.0,
                write_p50_us: 80.0 * round,
                write_p99_us: 800.0 * round,
                server_us: 20.0 * round,
                client_us: 4.0,
                client_cores: 0.1 * many,
                busy: 95.0,
                others: 2.0,
                hits: 10.0 * times,
                connections: if column == 5 { f64::NAN } else { 1.0 + 64.0 / times },
                server_mib: 130.0,
                ..Sample::default()
            };
            row.add(column, sample);
        }
    }
    row
}

fn measured() -> Vec<Measured> {
    let wanted = tables(&["1a", "4", "5"].map(str::to_owned), false).unwrap();
    let mut size = row("1/40", 3.0, 5);
    size.best = Some(12.0);
    size.foretold = vec![(2, 28.6)];
    size.notes = vec![("MiB", "1.2".to_owned()), ("at best", "12 %".to_owned())];
    vec![
        Measured {
            table: wanted[0],
            rows: vec![row("1", 1.0, 6), row("64", 8.0, 6)],
            without_cache: None,
            at_rate: Some(row("500 statements a second of 64 clients", 0.5, 6)),
        },
        Measured {
            without_cache: Some(row("64, cache off", 1.5, 3)),
            ..Measured::new(wanted[1], vec![row("64", 2.0, 6)])
        },
        Measured::new(wanted[2], vec![size]),
    ]
}

/// To make it anew after a change that is wanted: FRESHET_GOLDEN=write cargo test -p freshet-bench
#[test]
fn the_text_has_the_form_of_the_golden_one() {
    let failed = ["Table 9 failed: no\nmore".to_owned()];
    let (options, columns, tables) = (options("unused"), columns(), measured());
    let machine =
        head::Machine { processor: "a test".to_owned(), cores: 2, gib: 24.0, linux: "6.1".to_owned() };
    let text = text(
        &Results {
            options: &options,
            columns: &columns,
            tables: &tables,
            failed: &failed,
            took: Duration::from_secs(754),
        },
        &machine,
    );
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/benchmark/document/tests/golden.md");
    if std::env::var("FRESHET_GOLDEN").as_deref() == Ok("write") {
        fs::write(file, &text).unwrap();
    }
    assert_eq!(text, fs::read_to_string(file).unwrap());
}

#[test]
fn every_plot_that_the_text_shows_is_written() {
    let out = std::env::temp_dir().join(format!("freshet-report-{}", std::process::id()));
    fs::create_dir_all(&out).unwrap();
    let failed = ["Table 9 failed: no\nmore".to_owned()];
    let (options, columns, tables) = (options(out.to_str().unwrap()), columns(), measured());
    write(&Results {
        options: &options,
        columns: &columns,
        tables: &tables,
        failed: &failed,
        took: Duration::from_secs(754),
    })
    .unwrap();
    let text = fs::read_to_string(out.join("report.md")).unwrap();
    let shown: Vec<&str> =
        text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(name, _)| name).collect();
    assert_eq!(shown.len(), 8);
    for name in shown {
        assert!(fs::read_to_string(out.join(name)).unwrap().contains("<polyline"), "{name}");
    }
    fs::remove_dir_all(&out).unwrap();
}
