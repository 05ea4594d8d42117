//! What the server says after a login: that it is done, or what it still wants.

use ::bytes::BufMut;

use super::SCRAMBLE_LEN;
use crate::{ErrPacket, Malformed, OkPacket, Put, Reader};

/// The header of a packet of the plugin's own.
const MORE: u8 = 0x01;
/// The header of a switch to another plugin.
const SWITCH: u8 = 0xFE;

/// The server's answer to a login or to a step of its authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthReply<'a> {
    /// Logged in. The whole payload.
    Ok(&'a [u8]),
    /// Refused. The whole payload.
    Err(&'a [u8]),
    /// Start again with another plugin and challenge.
    Switch {
        /// The plugin's name.
        plugin: &'a [u8],
        /// The challenge as it came, most often twenty bytes and a NUL; see
        /// [`scramble_in`].
        data: &'a [u8],
    },
    /// Start again as before 4.1. No client should agree to that.
    OldSwitch,
    /// A packet of the plugin's own.
    More(&'a [u8]),
}

impl<'a> AuthReply<'a> {
    /// Reads the server's answer.
    ///
    /// # Errors
    /// If it is none of these.
    pub fn parse(payload: &'a [u8]) -> Result<Self, Malformed> {
        let reader = &mut Reader::new(payload);
        match reader.u8()? {
            OkPacket::HEADER => Ok(Self::Ok(payload)),
            ErrPacket::HEADER => Ok(Self::Err(payload)),
            MORE => Ok(Self::More(reader.rest())),
            SWITCH if reader.is_empty() => Ok(Self::OldSwitch),
            SWITCH => Ok(Self::Switch { plugin: reader.nul_bytes()?, data: reader.rest() }),
            _ => Err(Malformed::new("answer to the login")),
        }
    }
}

/// Returns the payload that has the client start again with `plugin`. `data` is sent
/// with the NUL behind it that clients expect of a challenge.
#[must_use]
pub fn auth_switch(plugin: &str, data: &[u8]) -> Vec<u8> {
    let mut out = vec![SWITCH];
    out.put_nul_bytes(plugin.as_bytes());
    out.put_slice(data);
    out.put_u8(0);
    out
}

/// Returns the payload of a packet of the plugin's own.
#[must_use]
pub fn auth_more(data: &[u8]) -> Vec<u8> {
    let mut out = vec![MORE];
    out.put_slice(data);
    out
}

/// Returns the scramble in a plugin's challenge, without the NUL that may follow it;
/// None if the challenge is no scramble.
#[must_use]
pub fn scramble_in(data: &[u8]) -> Option<[u8; SCRAMBLE_LEN]> {
    match data.split_first_chunk::<SCRAMBLE_LEN>()? {
        (scramble, [] | [0]) => Some(*scramble),
        _ => None,
    }
}
