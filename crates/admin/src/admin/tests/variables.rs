//! Variables in their layers.

use super::*;

#[test]
fn variables_count_once_they_are_loaded() {
    let directory = Directory::new("variables");
    let (mut admin, fake) = start(&directory);
    fake.set.lock().unwrap().clear();
    run(&mut admin, "SET mysql-query_cache_size_MB = 64");
    assert!(fake.set.lock().unwrap().is_empty());
    run(&mut admin, "LOAD MYSQL VARIABLES TO RUNTIME");
    assert!(fake.set.lock().unwrap().contains(&("mysql-query_cache_size_MB".to_owned(), "64".to_owned())));
    assert_eq!(run(&mut admin, "SHOW VARIABLES LIKE '%cache_size%'"), ["mysql-query_cache_size_MB|64"]);
    run(&mut admin, "SET mysql-query_cache_size_MB = wrong");
    run(&mut admin, "SET mysql-threshold_resultset_size = 7");
    assert!(run_as(&mut admin, "LOAD MYSQL VARIABLES TO RUNTIME", Role::Admin).is_err());
    // The others count all the same.
    let other = ("mysql-threshold_resultset_size".to_owned(), "7".to_owned());
    assert!(fake.set.lock().unwrap().contains(&other));
    assert!(run_as(&mut admin, "SET admin-version = 4", Role::Admin).is_err());
    assert!(run_as(&mut admin, "SET mysql-no_such = 4", Role::Admin).is_err());
}

#[test]
fn what_has_no_effect_is_kept_and_said() {
    let directory = Directory::new("idle");
    let (mut admin, _) = start(&directory);
    let noted = |answer: Vec<String>, note: &str| assert!(answer[0].contains(note), "{answer:?}, not {note}");
    let own = "it is the setting threads of Freshet";
    noted(run(&mut admin, "SET mysql-threads = 64"), own);
    noted(run(&mut admin, "SET mysql-monitor_username = 'm'"), "no effect");
    let loaded = run(&mut admin, "LOAD MYSQL VARIABLES TO RUNTIME");
    noted(loaded.clone(), own);
    noted(loaded, "mysql-monitor_username: it has no effect in Freshet");
    run(&mut admin, "SAVE MYSQL VARIABLES FROM RUNTIME");
    let kept = "SELECT variable_value FROM global_variables WHERE variable_name = 'mysql-monitor_username'";
    assert_eq!(run(&mut admin, kept), ["m"]);
    run(&mut admin, "SAVE MYSQL VARIABLES TO DISK");
    drop(admin);
    let (mut admin, _) = start(&directory);
    assert_eq!(run(&mut admin, kept), ["m"], "a restart keeps it");
}

#[test]
fn who_may_connect_is_set_loaded_and_saved() {
    let directory = Directory::new("accounts");
    let (mut admin, _) = start(&directory);
    let shown =
        "SELECT variable_value FROM runtime_global_variables WHERE variable_name = 'admin-admin_credentials'";
    assert_eq!(run(&mut admin, shown), ["admin:admin"]);
    run(&mut admin, "SET admin-admin_credentials = 'admin:a;radmin:r'");
    assert_eq!(admin.accounts().find(b"radmin"), None, "it counts once it is loaded");
    run(&mut admin, "LOAD ADMIN VARIABLES TO RUNTIME");
    assert_eq!(admin.accounts().find(b"radmin"), Some((Role::Admin, "r")));
    run(&mut admin, "SAVE ADMIN VARIABLES TO DISK");
    run(&mut admin, "SET admin-admin_credentials = ''");
    assert!(
        run_as(&mut admin, "LOAD ADMIN VARIABLES TO RUNTIME", Role::Admin).is_err(),
        "nobody could connect"
    );
    drop(admin);
    let (mut admin, _) = start(&directory);
    assert_eq!(run(&mut admin, shown), ["admin:a;radmin:r"]);
    assert!(run_as(&mut admin, shown, Role::Stats).is_err(), "passwords are not statistics");
}
