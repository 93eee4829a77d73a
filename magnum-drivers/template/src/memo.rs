//! What the driver remembers of a node group between calls.

use magnum_core::MemberId;
use serde::{Deserialize, Serialize};

/// What must be remembered: the name of everything that was made, or is about to be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memo {
    /// The group's machines.
    pub machines: Vec<Planned>,
}

/// One machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    /// The member's id, never used again.
    pub id: MemberId,
    /// The machine's name.
    pub name: String,
    /// Whether it is to go.
    pub leaving: bool,
}

impl Memo {
    /// Brings what is planned to `count` machines, with none of `remove` staying. A pure decision: the same again changes nothing.
    pub fn aim(&mut self, count: u32, remove: &[MemberId], mut fresh: impl FnMut() -> Planned) {
        for machine in &mut self.machines {
            machine.leaving |= remove.contains(&machine.id);
        }
        let count = count as usize;
        while self.staying() < count {
            self.machines.push(fresh());
        }
        while self.staying() > count {
            let last = self.machines.iter_mut().rev().find(|m| !m.leaving);
            if let Some(machine) = last {
                machine.leaving = true;
            }
        }
    }

    fn staying(&self) -> usize {
        self.machines.iter().filter(|m| !m.leaving).count()
    }
}
