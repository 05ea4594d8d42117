//! Attacks by packets: before the login, and right after it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use freshet_tests::raw::{FRAME_MAX, Raw, capability, error_code};
use freshet_tests::{Freshet, Target};

use crate::found::Found;
use crate::ground::{ATTACKER, Ground, SCHEMA, alive, attacker, stranger};

/// What unfinished packets of all clients together may make Freshet hold, bytes: `receive_buffers_size`, one packet beyond it, and
/// what all else takes and the allocator keeps of small pieces.
const UNFINISHED_BYTES_MAX: u64 = (128 + 64 + 64) << 20;
/// The zlib compression of the protocol.
const COMPRESS: u32 = 1 << 5;

/// Connections that say random things, and leave.
pub fn random_connections(ground: &Ground, freshet: &Freshet) -> Found {
    ground.both(freshet, |target| {
        let mut seed = 0x9E37_79B9u32;
        for _ in 0..ground.count(1700, 300) {
            let mut said = vec![0; (seed >> 24) as usize];
            for byte in &mut said {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                *byte = (seed >> 16) as u8;
            }
            seed = seed.wrapping_add(0x9E37_79B9);
            let _ = stranger(target).write_all(&said);
        }
        alive(target)
    })
}

fn frame(payload: &[u8]) -> Vec<u8> {
    let mut frame = u32::try_from(payload.len()).expect("short").to_le_bytes().to_vec();
    frame[3] = 1;
    [&frame, payload].concat()
}

/// Handshakes that no client would send: none may be let in.
pub fn malformed(ground: &Ground, freshet: &Freshet) -> Found {
    let head = |low: [u8; 4]| [&low[..], &[0; 28]].concat();
    let packets = [
        frame(&[0x85; 31]),
        frame(&[0xff; 32]),
        frame(&[0xff; 200]),
        frame(&head([0x0d, 0xa2, 0x0b, 0])),
        frame(&[head([0x0d, 0xa2, 0x0b, 0]), b"attacker\0".to_vec(), vec![250; 3]].concat()),
        frame(
            &[
                head([0xff; 4]),
                b"attacker\0".to_vec(),
                vec![0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
            ]
            .concat(),
        ),
        frame(&[head([0x0d, 0xaa, 0x0b, 0]), vec![0x55; 3000]].concat()),
        frame(b""),
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(),
    ];
    ground.both(freshet, |target| {
        let said = packets.iter().map(|packet| {
            let mut raw = stranger(target);
            let _ = raw.write_all(packet);
            let _ = raw.shutdown(std::net::Shutdown::Write);
            let mut heard = Vec::new();
            let _ = raw.read_to_end(&mut heard);
            // Behind the greeting: an OK would be a login.
            let greeting = 4 + usize::from(*heard.first().unwrap_or(&0));
            if heard.get(greeting + 4) == Some(&0) { 'I' } else { '.' }
        });
        format!("let in: {}", said.collect::<String>())
    })
}

/// The attacker's login, as bytes.
fn login(offered: u32) -> Vec<u8> {
    let capabilities = (capability::BASE | capability::CONNECT_WITH_DB) & offered;
    let mut login = capabilities.to_le_bytes().to_vec();
    login.extend((1u32 << 30).to_le_bytes());
    login.push(45);
    login.extend([0; 23]);
    login.extend(ATTACKER.as_bytes());
    login.extend([0, 0]);
    login.extend(SCHEMA.as_bytes());
    login.extend(b"\0mysql_native_password\0");
    login
}

/// Logins that end at each byte: whoever the server refuses, Freshet refuses.
pub fn cut_logins(ground: &Ground, freshet: &Freshet) -> Found {
    let (direct, through, memory) = ground.ways(freshet, |target| {
        let whole = login(Raw::dial(&target.host, target.port).expect("it greets").offered).len();
        let step = ground.count(1, 3);
        (0..=whole).step_by(step).map(|cut| if is_let_in(target, cut) { 'I' } else { '.' }).collect()
    });
    let pairs = || direct.outcome.chars().zip(through.outcome.chars());
    let more = pairs().filter(|&(direct, through)| direct == '.' && through == 'I').count();
    Found::new(direct.clone(), through.clone(), memory)
        .expect(more == 0, format!("{more} cut logins more are let in"))
}

fn is_let_in(target: &Target, cut: usize) -> bool {
    let mut raw = Raw::dial(&target.host, target.port).expect("it greets");
    raw.stream().set_read_timeout(Some(Duration::from_secs(5))).expect("it can be set");
    let login = login(raw.offered);
    raw.put(&login[..cut.min(login.len())]).is_ok() && raw.authenticated().is_ok()
}

/// Clients that send most of a packet and then nothing.
pub fn half_packets(ground: &Ground, freshet: &Freshet) -> Found {
    let clients = ground.count(15, 8);
    ground
        .both(freshet, |target| {
            let held: Vec<Raw> = (0..clients).filter_map(|_| half_sent(target)).collect();
            let outcome = alive(target);
            drop(held);
            outcome
        })
        .memory_max(UNFINISHED_BYTES_MAX)
        // Who finds no room is made to wait; that is the attacker's time.
        .at_any_time()
}

/// 59 MB of a packet of 63; it may be refused on the way.
fn half_sent(target: &Target) -> Option<Raw> {
    let raw = attacker(target);
    raw.stream().set_write_timeout(Some(Duration::from_secs(2))).expect("it can be set");
    let body = vec![b' '; FRAME_MAX];
    for (seq, len) in [FRAME_MAX, FRAME_MAX, FRAME_MAX, 11_000_000].into_iter().enumerate() {
        let header = [0xff, 0xff, 0xff, seq as u8];
        let mut stream: &TcpStream = raw.stream();
        if stream.write_all(&header).is_err() || stream.write_all(&body[..len]).is_err() {
            break;
        }
    }
    Some(raw)
}

/// A packet beyond every limit.
pub fn oversized(ground: &Ground, freshet: &Freshet) -> Found {
    ground
        .both(freshet, |target| {
            let mut raw = attacker(target);
            let body = vec![b' '; FRAME_MAX];
            for seq in 0..6u8 {
                let mut stream: &TcpStream = raw.stream();
                if stream.write_all(&[0xff, 0xff, 0xff, seq]).and_then(|()| stream.write_all(&body)).is_err()
                {
                    break;
                }
            }
            let taken = raw.packet().is_ok_and(|packet| error_code(&packet).is_none());
            format!("taken: {taken}; {}", alive(target))
        })
        .memory_max(UNFINISHED_BYTES_MAX)
}

/// Commands that have no answer, wait for more, or stop the server.
const NOT_SENT: [u8; 12] = [1, 3, 8, 11, 17, 18, 21, 23, 24, 25, 29, 30];

/// Every other command byte, with nothing behind it: what the server refuses, Freshet refuses, by whichever error.
pub fn unknown_commands(ground: &Ground, freshet: &Freshet) -> Found {
    let bytes: Vec<u8> =
        (0..=255u8).step_by(ground.count(1, 4)).filter(|byte| !NOT_SENT.contains(byte)).collect();
    let (mut direct, mut through, memory) = ground.ways(freshet, |target| {
        bytes.iter().map(|&byte| said_to(target, byte)).collect::<Vec<_>>().join(" ")
    });
    let said = |outcome: &str| outcome.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let (server, ours) = (said(&direct.outcome), said(&through.outcome));
    let differ: Vec<usize> = (0..bytes.len()).filter(|&at| server[at] != ours[at]).collect();
    let more = differ.iter().filter(|&&at| server[at] != ANSWER && ours[at] == ANSWER).count();
    let show = |said: &[String]| {
        let shown = differ.iter().map(|&at| format!("{}:{}", bytes[at], said[at])).collect::<Vec<_>>();
        format!("{} bytes, differing {}", bytes.len(), shown.join(" "))
    };
    (direct.outcome, through.outcome) = (show(&server), show(&ours));
    Found::new(direct, through, memory)
        .expect(more == 0, format!("{more} are answered that the server refuses"))
}

/// Any packet that is no error.
const ANSWER: &str = "answer";

fn said_to(target: &Target, byte: u8) -> String {
    let mut raw = attacker(target);
    raw.stream().set_read_timeout(Some(Duration::from_secs(5))).expect("it can be set");
    let heard = raw.send(byte, b"").and_then(|()| raw.packet());
    match heard {
        Ok(packet) => error_code(&packet).map_or(ANSWER.to_owned(), |code| code.to_string()),
        Err(_) => "end".to_owned(),
    }
}

/// Small packets that claim to be, and become, large ones; they are never finished.
pub fn compressed_bombs(ground: &Ground, freshet: &Freshet) -> Found {
    let offered =
        |target: &Target| Raw::dial(&target.host, target.port).expect("it greets").offered & COMPRESS != 0;
    let is_offered = offered(freshet.target());
    ground
        .both(freshet, |target| {
            if !offered(target) || !is_offered {
                return "not offered".to_owned();
            }
            let held: Vec<Raw> = (0..ground.count(20, 8)).map(|_| bomb(target)).collect();
            let outcome = alive(target);
            drop(held);
            outcome
        })
        .memory_max(UNFINISHED_BYTES_MAX)
}

/// A client whose one packet of 48 MB took 50 kB to send.
fn bomb(target: &Target) -> Raw {
    let mut raw = Raw::dial(&target.host, target.port).expect("it greets");
    raw.login(ATTACKER, SCHEMA, COMPRESS).expect("it lets the attacker in");
    let mut stream: &TcpStream = raw.stream();
    for seq in 0..3u8 {
        // One frame of the protocol in one compressed packet, which is as long as one can be.
        let inner = [&[0xff, 0xff, 0xff, seq][..], &vec![b' '; FRAME_MAX - 4]].concat();
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
        packed.write_all(&inner).expect("it is memory");
        let packed = packed.finish().expect("it is memory");
        let mut header = u32::try_from(packed.len()).expect("short").to_le_bytes();
        header[3] = seq;
        let claim = [&header[..], &[0xff, 0xff, 0xff], &packed].concat();
        if stream.write_all(&claim).is_err() {
            break;
        }
    }
    raw
}
