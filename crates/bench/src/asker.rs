//! How one client sends its statements: as texts, or prepared.

use std::rc::Rc;

use freshet_protocol::{Command, ErrPacket, PrepareOk};

use crate::load::Load;
use crate::login::WANTED;
use crate::question::put_command;
use crate::statement::{Form, Statement};
use crate::target::Failure;
use crate::texts::{Prepared, Texts, put_execution};
use crate::wire::Wire;

/// The first byte of an error.
const ERR: u8 = 0xff;

/// The way in which one client sends its statements.
#[derive(Debug)]
pub struct Asker {
    texts: Rc<Texts>,
    /// The prepared statements, by the numbers of the texts; empty if all are sent as texts.
    prepared: Vec<Option<Prepared>>,
}

impl Asker {
    /// Prepares the statements that the load executes over the client's connection, if the load wants prepared ones.
    pub async fn new(load: &Load, texts: &Rc<Texts>, wire: &mut Wire) -> Result<Asker, Failure> {
        let mut asker = Asker { texts: Rc::clone(texts), prepared: Vec::new() };
        if load.prepared {
            asker.prepared.resize(texts.len(), None);
            let mut forms = load.mix.cycle().to_vec();
            if load.writes > 0 {
                forms.push(Form::UpdateIndexed);
            }
            for table in 1..=load.tables {
                for form in &forms {
                    asker.prepare(wire, Texts::at(*form, table)).await?;
                }
            }
        }
        Ok(asker)
    }

    /// Prepares a text, unless it is already prepared.
    async fn prepare(&mut self, wire: &mut Wire, at: usize) -> Result<(), Failure> {
        let Some(place @ None) = self.prepared.get_mut(at) else { return Ok(()) };
        let mut packet = Vec::new();
        put_command(&mut packet, Command::StmtPrepare.byte(), &self.texts.question(at));
        wire.send_raw(&packet).await?;
        let head = wire.packet().await?.payload;
        if head.first() == Some(&ERR) {
            return Err(String::from_utf8_lossy(&ErrPacket::parse(&head)?.message).into());
        }
        let head = PrepareOk::parse(&head, WANTED)?;
        // The definitions of parameters and of columns each end with an EOF packet.
        for count in [head.parameters, head.columns].into_iter().filter(|count| *count > 0) {
            for _ in 0..=count {
                wire.packet().await?;
            }
        }
        *place = Some(Prepared { id: head.statement_id, bound: false });
        Ok(())
    }

    /// Appends the packet of a statement.
    pub fn put(&mut self, packet: &mut Vec<u8>, statement: &Statement) {
        if let Statement::Of { form, table, values } = statement
            && let Some(Some(prepared)) = self.prepared.get_mut(Texts::at(*form, *table))
        {
            return put_execution(packet, prepared, values);
        }
        self.texts.put(packet, statement);
    }
}
