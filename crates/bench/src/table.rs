//! Makes the table that is measured, in sysbench's form.

use crate::args::Args;
use crate::login;
use crate::mix;
use crate::question::query_packet;
use crate::reply::read_answer;
use crate::target::Failure;
use crate::wire::Wire;

/// Rows for each INSERT.
const BATCH_ROWS: u32 = 500;

/// Makes schema and tables anew through the first target.
pub async fn prepare(args: &Args) -> Result<(), Failure> {
    let target = args.targets.first().ok_or("there is no target")?;
    let mut wire = login::open(&args.account, target, "").await?;
    say(&mut wire, &format!("CREATE DATABASE IF NOT EXISTS {}", args.account.database)).await?;
    for number in 1..=args.load.tables {
        let table =
            format!("{}.{}", args.account.database, mix::name(&args.load.table, args.load.tables, number));
        make(&mut wire, &table, args.load.keys).await?;
    }
    Ok(())
}

/// Makes one table, with ids 1 to `keys`.
pub async fn make(wire: &mut Wire, table: &str, keys: u32) -> Result<(), Failure> {
    say(wire, &format!("DROP TABLE IF EXISTS {table}")).await?;
    let columns =
        "id INT PRIMARY KEY, k INT NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL, KEY k_1 (k)";
    say(wire, &format!("CREATE TABLE {table} ({columns}) ENGINE=InnoDB")).await?;
    let mut next = 1;
    while next <= keys {
        let end = keys.min(next + BATCH_ROWS - 1);
        let rows: Vec<String> = (next..=end).map(row).collect();
        say(wire, &format!("INSERT INTO {table} VALUES {}", rows.join(","))).await?;
        next = end + 1;
    }
    Ok(())
}

fn row(id: u32) -> String {
    format!("({id},{id},'{id:0119}','{id:059}')")
}

/// Sends a statement and waits for its answer.
pub async fn say(wire: &mut Wire, statement: &str) -> Result<(), Failure> {
    let mut packet = Vec::new();
    query_packet(&mut packet, statement);
    wire.send_raw(&packet).await?;
    read_answer(wire).await?;
    Ok(())
}
