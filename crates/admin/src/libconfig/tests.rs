use super::*;

/// A file as ProxySQL's packages have it, with what its users write into it.
const FILE: &str = r#"
# a comment
datadir="/var/lib/proxysql"   // another
errorlog="/var/lib/proxysql/proxysql.log"
admin_variables=
{
    admin_credentials="admin:admin;radminuser:radminpass"
    mysql_ifaces="0.0.0.0:6032"  /* and
    one more */
    debug=true
}
mysql_variables= { threads=4; max_connections=2048, default_query_delay=0 big=0x7FL
    commands_stats=TRUE interfaces="0.0.0.0:6033;"
        "/tmp/proxysql.sock" }
mysql_servers : (
    { address="10.0.0.1" , port=3306 , hostgroup=0 , weight = 1 },
    { address="10.0.0.2", hostgroup=1 }
)
mysql_users: ( )
list = [ 1, -2, 3.5 ];
"#;

fn of<'a>(settings: &'a [Setting], name: &str) -> &'a ConfigValue {
    &settings.iter().find(|setting| setting.name == name).unwrap_or_else(|| panic!("{name}")).value
}

fn group<'a>(settings: &'a [Setting], name: &str) -> &'a [Setting] {
    let ConfigValue::Group(group) = of(settings, name) else { panic!("{name} is no group") };
    group
}

#[test]
fn a_file_of_proxysqls() {
    let settings = parse(FILE).unwrap();
    assert_eq!(of(&settings, "datadir"), &ConfigValue::Text("/var/lib/proxysql".to_owned()));
    assert_eq!(of(group(&settings, "admin_variables"), "debug"), &ConfigValue::Bool(true));
    let variables = group(&settings, "mysql_variables");
    assert_eq!(of(variables, "max_connections"), &ConfigValue::Integer(2048));
    assert_eq!(of(variables, "big"), &ConfigValue::Integer(0x7f));
    assert_eq!(of(variables, "interfaces"), &ConfigValue::Text("0.0.0.0:6033;/tmp/proxysql.sock".to_owned()));
    let ConfigValue::List(servers) = of(&settings, "mysql_servers") else { panic!("a list") };
    let ConfigValue::Group(second) = &servers[1] else { panic!("a group") };
    assert_eq!(of(second, "hostgroup"), &ConfigValue::Integer(1));
    assert_eq!(of(&settings, "mysql_users"), &ConfigValue::List(Vec::new()));
    let numbers = vec![ConfigValue::Integer(1), ConfigValue::Integer(-2), ConfigValue::Real(3.5)];
    assert_eq!(of(&settings, "list"), &ConfigValue::List(numbers));
    // What is written of it is read as the same.
    assert_eq!(parse(&write(&settings)).unwrap(), settings);
}

#[test]
fn texts_have_escapes() {
    let cases = [
        (r#""a\"b\\c\n\t""#, "a\"b\\c\n\t"),
        (r#""\x41\x7a\x""#, "Az\\x"),
        (r#""^SELECT \d+ \\w""#, "^SELECT \\d+ \\w"),
        ("\"two\" /* and */ \" more\"", "two more"),
        (r#""größe""#, "größe"),
    ];
    for (written, expected) in cases {
        let settings = parse(&format!("a = {written}")).unwrap();
        assert_eq!(settings[0].value, ConfigValue::Text(expected.to_owned()), "{written}");
        assert_eq!(parse(&write(&settings)).unwrap(), settings, "{written}");
    }
}

#[test]
fn what_is_no_configuration_is_refused_with_its_line() {
    let deep = format!("a = {}", "(".repeat(100));
    let cases = [
        ("a = 1\nb", 2, "'=' or ':'"),
        ("a = \"x", 1, "a text has no end"),
        ("a = {\n b = 1\n", 3, "a group has no end"),
        ("a = ( 1 2 )", 1, "','"),
        ("\n\n/* x", 3, "a comment has no end"),
        ("@include \"x\"", 1, "@include"),
        ("a = yes", 1, "a value is expected"),
        ("a = 99999999999999999999", 1, "a value is expected"),
        ("a = \"\\xff\"", 1, "UTF-8"),
        ("= 1", 1, "a name"),
        (&deep, 1, "too deep"),
    ];
    for (text, line, what) in cases {
        let wrong = parse(text).unwrap_err();
        assert!(wrong.line == line && wrong.what.contains(what), "{text:.20}: {wrong}");
    }
}
