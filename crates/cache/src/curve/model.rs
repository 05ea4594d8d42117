//! A cache without results: which entries a cache of some size would have, and how often they would be asked for.
//!
//! The policy is that of [`crate::shard`], without the upstream time that a result saves: a small queue, a main queue, and a ghost of the
//! entries that have left.

use std::collections::VecDeque;

use ahash::{HashMap, HashSet};

use crate::shard::{CREDIT_MAX, CREDIT_TO_STAY, SMALL_SHARE};

/// A queue is cleared of outdated places when there are more of these than valid ones, and more than this.
const OVER_MAX: usize = 64;

#[derive(Debug, Clone, Copy)]
struct Modelled {
    bytes: u32,
    credit: u8,
    is_main: bool,
    /// A place in a queue with another number is outdated.
    turn: u32,
}

#[derive(Debug, Default)]
pub(super) struct Model {
    bytes_max: u64,
    entries: HashMap<u64, Modelled>,
    /// The oldest entry is in front, each with its turn. An entry that has ended stays in the queue until it is found.
    small: VecDeque<(u64, u32)>,
    main: VecDeque<(u64, u32)>,
    turn: u32,
    small_bytes: u64,
    main_bytes: u64,
    ghost: HashSet<u64>,
    ghost_order: VecDeque<u64>,
    pub(super) hits: u64,
}

impl Model {
    pub(super) fn new(bytes_max: u64) -> Self {
        Self { bytes_max, ..Self::default() }
    }

    pub(super) const fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Looks a result up, and stores it if it is not there.
    pub(super) fn look_up(&mut self, hash: u64, bytes: u32) {
        if let Some(entry) = self.entries.get_mut(&hash) {
            entry.credit = (entry.credit + 1).min(CREDIT_MAX);
            self.hits += 1;
            return;
        }
        if u64::from(bytes) > self.bytes_max {
            return;
        }
        let is_main = self.ghost.remove(&hash);
        self.enqueue(hash, Modelled { bytes, credit: 0, is_main, turn: 0 });
        self.make_room();
    }

    /// Removes a result that has changed.
    pub(super) fn end(&mut self, hash: u64) {
        let Some(entry) = self.entries.remove(&hash) else { return };
        *self.bytes_of(entry.is_main) -= u64::from(entry.bytes);
        if entry.is_main || entry.credit > 0 {
            self.remember(hash);
        }
    }

    /// Notes that a result takes another number of bytes than was assumed.
    pub(super) fn resize(&mut self, hash: u64, bytes: u32) {
        let Some(entry) = self.entries.get_mut(&hash) else { return };
        let (before, is_main) = (std::mem::replace(&mut entry.bytes, bytes), entry.is_main);
        let of = self.bytes_of(is_main);
        *of = *of - u64::from(before) + u64::from(bytes);
        self.make_room();
    }

    /// Keeps some of the entries, in less room.
    pub(super) fn thin_out(&mut self, bytes_max: u64, keeps: impl Fn(u64) -> bool) {
        self.bytes_max = bytes_max;
        self.entries.retain(|hash, _| keeps(*hash));
        for queue in [&mut self.small, &mut self.main] {
            queue.retain(|(hash, _)| keeps(*hash));
        }
        self.ghost_order.retain(|hash| keeps(*hash));
        self.ghost.retain(|hash| keeps(*hash));
        let bytes = |main: bool| {
            self.entries.values().filter(|it| it.is_main == main).map(|it| u64::from(it.bytes)).sum()
        };
        (self.small_bytes, self.main_bytes) = (bytes(false), bytes(true));
        self.make_room();
    }

    const fn bytes_of(&mut self, is_main: bool) -> &mut u64 {
        if is_main { &mut self.main_bytes } else { &mut self.small_bytes }
    }

    fn enqueue(&mut self, hash: u64, entry: Modelled) {
        self.turn = self.turn.wrapping_add(1);
        let entry = Modelled { turn: self.turn, ..entry };
        self.entries.insert(hash, entry);
        *self.bytes_of(entry.is_main) += u64::from(entry.bytes);
        let entries = &self.entries;
        let queue = if entry.is_main { &mut self.main } else { &mut self.small };
        queue.push_back((hash, entry.turn));
        if queue.len() > 2 * entries.len() + OVER_MAX {
            queue.retain(|(hash, turn)| entries.get(hash).is_some_and(|entry| entry.turn == *turn));
        }
    }

    fn make_room(&mut self) {
        while self.small_bytes + self.main_bytes > self.bytes_max {
            let is_small_large = self.small_bytes > (self.small_bytes + self.main_bytes) / SMALL_SHARE as u64;
            let from_small = is_small_large && !self.small.is_empty() || self.main.is_empty();
            let next = if from_small { self.small.pop_front() } else { self.main.pop_front() };
            let Some((hash, turn)) = next else { return };
            let Some(entry) = self.entries.get(&hash).copied().filter(|entry| entry.turn == turn) else {
                continue;
            };
            *self.bytes_of(entry.is_main) -= u64::from(entry.bytes);
            let left = match entry.is_main {
                false if entry.credit >= CREDIT_TO_STAY => Some(0),
                true if entry.credit > 0 => Some(entry.credit - 1),
                _ => None,
            };
            if let Some(credit) = left {
                self.enqueue(hash, Modelled { credit, is_main: true, ..entry });
            } else {
                self.entries.remove(&hash);
                self.remember(hash);
            }
        }
    }

    fn remember(&mut self, hash: u64) {
        if self.ghost.insert(hash) {
            self.ghost_order.push_back(hash);
        }
        while self.ghost_order.len() > self.entries.len().max(1) {
            let Some(oldest) = self.ghost_order.pop_front() else { return };
            self.ghost.remove(&oldest);
        }
    }
}
