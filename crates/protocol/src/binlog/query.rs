//! QUERY, in the plain form, MariaDB's compressed one and the one that ends a
//! statement-logged LOAD DATA.

use super::event::EventBody;
use super::inflate;
use crate::{Malformed, Reader};

/// How the text of a QUERY event is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Plain,
    Compressed,
    /// EXECUTE_LOAD_QUERY: the post-header has 13 more bytes that say where
    /// the file's name stands in the text.
    Load,
}

/// What the status variables tell, in the order in which they are written.
#[derive(Default)]
struct Status {
    sql_mode: Option<u64>,
    client_collation: Option<u16>,
}

pub(super) fn parse(body: &[u8], form: Form) -> Result<EventBody, Malformed> {
    const LOAD_EXTRA_LEN: usize = 13;

    let mut reader = Reader::new(body);
    let thread_id = reader.u32()?;
    let _seconds = reader.u32()?;
    let schema_len = usize::from(reader.u8()?);
    let error_code = reader.u16()?;
    let status_len = usize::from(reader.u16()?);
    if form == Form::Load {
        reader.take(LOAD_EXTRA_LEN)?;
    }
    let status = Status::parse(reader.take(status_len)?);
    let schema = reader.take(schema_len)?.to_vec();
    reader.u8()?;
    let text = match form {
        Form::Plain | Form::Load => reader.rest().to_vec(),
        Form::Compressed => match inflate::record(reader.rest())? {
            Some(text) => text,
            None => return Ok(EventBody::Unknown),
        },
    };
    Ok(EventBody::Query {
        schema,
        text,
        thread_id,
        error_code,
        sql_mode: status.sql_mode,
        client_collation: status.client_collation,
    })
}

impl Status {
    /// Reads up to the first variable that it does not know. That loses
    /// nothing: the servers write in ascending order, both values stand among
    /// the first, and the whole block's length is known from elsewhere.
    fn parse(block: &[u8]) -> Self {
        let mut status = Status::default();
        let mut reader = Reader::new(block);
        while !reader.is_empty() {
            if status.one(&mut reader).is_err() {
                break;
            }
        }
        status
    }

    fn one(&mut self, reader: &mut Reader<'_>) -> Result<(), Malformed> {
        const FLAGS: u8 = 0;
        const SQL_MODE: u8 = 1;
        const CATALOG_NUL: u8 = 2;
        const AUTO_INCREMENT: u8 = 3;
        const CHARSET: u8 = 4;
        const CATALOG: u8 = 6;

        match reader.u8()? {
            FLAGS | AUTO_INCREMENT => {
                reader.u32()?;
            }
            SQL_MODE => self.sql_mode = Some(reader.u64()?),
            CATALOG => skip_string(reader, 0)?,
            CATALOG_NUL => skip_string(reader, 1)?,
            CHARSET => {
                self.client_collation = Some(reader.u16()?);
                reader.u32()?;
            }
            _ => return Err(Malformed::new("unknown")),
        }
        Ok(())
    }
}

fn skip_string(reader: &mut Reader<'_>, terminator: usize) -> Result<(), Malformed> {
    let len = usize::from(reader.u8()?);
    reader.take(len + terminator)?;
    Ok(())
}
