//! Applications that know nothing of Freshet, each a small shop as the manual of its framework has it, are answered from memory when
//! their pages are repeated, and always see their own writes.

use freshet_tests::{tool, with_each};

/// Of 100 reads of pages that are repeated, how many have to come from memory.
const PERCENT_MIN: u64 = 90;

/// What a shop says of a phase: `NAME: reads R hits H`.
fn phase(line: &str) -> Option<(&str, u64, u64)> {
    let (name, counts) = line.split_once(": reads ")?;
    let (reads, hits) = counts.split_once(" hits ")?;
    Some((name, reads.parse().ok()?, hits.parse().ok()?))
}

/// Runs a shop through Freshet on each server, and holds what it says against what is promised.
fn hits_through(name: &str, program: &str, before: &[String], words: &[&str]) {
    if !tool::is_there(program) {
        return;
    }
    with_each(|_, freshet| {
        let arguments = tool::arguments(freshet.target(), &format!("shop_{name}"), words);
        let said = tool::run(program, &[before, &arguments].concat());
        println!("{name}:\n{said}");
        assert!(!said.contains("STALE") && said.ends_with("done\n"), "{said}");
        let phases: Vec<_> = said.lines().filter_map(phase).collect();
        assert!(!phases.is_empty(), "{said}");
        for (phase, reads, hits) in phases {
            let is_enough = reads > 0 && hits * 100 >= reads * PERCENT_MIN;
            assert!(is_enough || !freshet.is_there(), "{name}, {phase}: {hits} of {reads} reads");
        }
    });
}

fn text(path: std::path::PathBuf) -> String {
    path.to_str().expect("paths are UTF-8").to_owned()
}

const AUTOCOMMIT: &[&str] = &["autocommit"];

fn python(name: &str) {
    let python = text(tool::folder().join("python/bin/python"));
    let program = text(tool::sources().join(format!("python/{name}_shop.py")));
    hits_through(name, &python, &[program], AUTOCOMMIT);
}

#[test]
fn sqlalchemy() {
    python("sqlalchemy");
}

#[test]
fn django() {
    python("django");
}

#[test]
fn go_database_sql() {
    hits_through("go", &text(tool::folder().join("go/bin/shop")), &[], AUTOCOMMIT);
}

#[test]
fn node_mysql2_execute() {
    // Node looks for modules beside the script, so it is run from where they are installed.
    let installed = tool::folder().join("node");
    if std::fs::copy(tool::sources().join("node/shop.js"), installed.join("shop.js")).is_ok() {
        hits_through("node", "node", &[text(installed.join("shop.js"))], AUTOCOMMIT);
    } else {
        freshet_tests::leave_out("the modules of node are not installed; scripts/tools installs them");
    }
}

#[test]
fn java_hikari_connector_j() {
    let class_path = text(tool::folder().join("java/*"));
    let program = text(tool::sources().join("java/Shop.java"));
    hits_through("java", "java", &["-cp".into(), class_path, program], AUTOCOMMIT);
}

#[test]
fn php_pdo_native() {
    hits_through("php", "php", &[text(tool::sources().join("php/shop.php"))], AUTOCOMMIT);
}
