//! Servers for tests, also those of other rooms.

use freshet_protocol::Capabilities;

use super::version::flavor;
use super::{Filters, Privileges, ServerInfo, Version};

/// Returns a server as tests imagine it: all is well unless `variables` says otherwise.
pub fn imagined(version: &str, variables: &[(&str, &str)]) -> ServerInfo {
    let usual = [
        ("log_bin", "ON"),
        ("binlog_format", "ROW"),
        ("binlog_row_image", "FULL"),
        ("binlog_row_metadata", "FULL"),
        ("gtid_mode", "ON"),
        ("log_replica_updates", "ON"),
        ("lower_case_table_names", "0"),
        ("server_id", "1"),
    ];
    let mut privileges = Privileges::none("`f`@`%`");
    privileges.add("GRANT ALL PRIVILEGES ON *.* TO `f`@`%`");
    ServerInfo {
        version_text: version.into(),
        version: Version::parse(version),
        flavor: flavor(version),
        capabilities: Capabilities::empty(),
        collation: 45,
        auth_plugin: "caching_sha2_password".into(),
        variables: usual.into_iter().chain(variables.iter().copied()).collect(),
        filters: Some(Filters::default()),
        is_replica: Some(false),
        privileges,
        warns_of: Vec::new(),
    }
}
