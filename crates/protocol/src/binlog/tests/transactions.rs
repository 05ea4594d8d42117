use super::*;
#[test]
fn look() {
    for (f, name) in [(Flavor::MySql,"mysql_transactions"),(Flavor::MySql,"mysql_tagged_previous_gtids"),(Flavor::MySql,"mysql_compressed"),(Flavor::MySql,"mysql_partial_json"),(Flavor::MySql,"mysql_generated"),(Flavor::MySql,"mysql_no_checksum"),(Flavor::MariaDb,"mariadb_transactions"),(Flavor::MariaDb,"mariadb_compressed"),(Flavor::MariaDb,"mariadb_no_metadata_no_checksum"),(Flavor::MariaDb,"mariadb_old_temporal")] {
        println!("== {name}");
        let file = std::fs::read(format!("/work/main/crates/protocol/src/binlog/testdata/{name}.bin")).unwrap();
        let ev = decode(f,&file);
        for e in flat(&ev) { match &e.body { Body::TableMap(m) => println!("TM {} cols {:?} pk {:?}", String::from_utf8_lossy(&m.table), m.columns.iter().map(|c|(c.kind,c.meta,c.unsigned,c.name.clone().map(|n|String::from_utf8(n).unwrap()),c.collation,c.visible)).collect::<Vec<_>>(), m.primary_key), Body::Query{schema,text,sql_mode,client_collation,..}=>println!("Q {} {} {:?} {:?}",String::from_utf8_lossy(schema),String::from_utf8_lossy(text),sql_mode,client_collation), Body::Gtid(g)=>println!("G {} {:?}",g.gtid,g), Body::Transaction(t)=>println!("T {}",t.len()), b=>println!("{} {b:?}",e.header.kind)} }
        if name != "mariadb_old_temporal" {for l in changes(&ev) { println!("{l}"); }}
    }
}
