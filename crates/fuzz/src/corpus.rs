//! The inputs that new ones are made of.

use std::collections::HashSet;

use crate::random::Random;
use crate::target::Behaviour;

/// The most inputs kept.
const INPUTS_MAX: usize = 4096;

/// Real inputs, and those that showed something new.
#[derive(Debug, Default)]
pub struct Corpus {
    inputs: Vec<Vec<u8>>,
    shown: HashSet<Behaviour>,
}

impl Corpus {
    /// Takes an input that behaved so; it is kept if no other did, in the place of any when there are too many.
    pub fn take(&mut self, random: &mut Random, input: &[u8], behaviour: Behaviour) {
        if !self.shown.insert(behaviour) {
            return;
        }
        if self.inputs.len() < INPUTS_MAX {
            return self.inputs.push(input.to_vec());
        }
        let at = random.below(INPUTS_MAX);
        self.inputs[at] = input.to_vec();
    }

    /// Any input.
    pub fn any(&self, random: &mut Random) -> &[u8] {
        self.inputs.get(random.below(self.inputs.len())).map_or(b"", Vec::as_slice)
    }

    /// Returns how many behaviours were seen.
    pub fn behaviours(&self) -> usize {
        self.shown.len()
    }
}
