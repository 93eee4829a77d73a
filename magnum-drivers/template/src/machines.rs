//! The service that the driver builds on, and a pretended one. Yours has a network between; everything else about it is the same.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

/// A machine, as the service shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// The mark that the driver gave it: whose it is.
    pub mark: String,
}

/// The service did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the machine service is not available")]
pub struct MachineError;

/// What the driver asks of a service of machines. Put your client here.
#[async_trait]
pub trait MachineService: Debug + Send + Sync + 'static {
    /// Makes a machine; one of that name and mark is left as it is.
    ///
    /// # Errors
    /// [`MachineError`]; the machine may have been made nevertheless.
    async fn make(&self, machine: Machine) -> Result<(), MachineError>;

    /// Removes a machine; none there is success.
    ///
    /// # Errors
    /// [`MachineError`]; the machine may have been removed nevertheless.
    async fn remove(&self, name: &str) -> Result<(), MachineError>;

    /// The machines with a mark.
    ///
    /// # Errors
    /// [`MachineError`].
    async fn marked(&self, mark: &str) -> Result<Vec<Machine>, MachineError>;
}

#[derive(Debug, Default)]
struct State {
    machines: BTreeMap<String, Machine>,
    made: Vec<String>,
    calls: u64,
    faults: Vec<(u64, bool)>,
}

/// A pretended service, with a record of what was made and faults on demand. Clones are the same service.
#[derive(Debug, Clone, Default)]
pub struct Machines(Arc<Mutex<State>>);

impl Machines {
    /// A service without machines.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no holder of this lock panics")
    }

    /// Everything that is there.
    #[must_use]
    pub fn all(&self) -> Vec<Machine> {
        self.state().machines.values().cloned().collect()
    }

    /// The names of everything that was ever made, in order.
    #[must_use]
    pub fn made(&self) -> Vec<String> {
        self.state().made.clone()
    }

    /// How many calls there were.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.state().calls
    }

    /// Lets the call number `after` from now fail, before or, with `effective`, after it took effect.
    pub fn fail(&self, after: u64, effective: bool) {
        let mut state = self.state();
        let at = state.calls + after;
        state.faults.push((at, effective));
    }

    async fn call<T: Send>(
        &self,
        effect: impl FnOnce(&mut State) -> T + Send,
    ) -> Result<T, MachineError> {
        // A real client awaits its network here.
        std::future::ready(()).await;
        let mut state = self.state();
        let number = state.calls;
        state.calls += 1;
        let fault = state.faults.iter().find(|(at, _)| *at == number).copied();
        if fault == Some((number, false)) {
            return Err(MachineError);
        }
        let value = effect(&mut state);
        if fault.is_some() {
            return Err(MachineError);
        }
        Ok(value)
    }
}

#[async_trait]
impl MachineService for Machines {
    async fn make(&self, machine: Machine) -> Result<(), MachineError> {
        self.call(|state| {
            if !state.machines.contains_key(&machine.name) {
                state.made.push(machine.name.clone());
                state.machines.insert(machine.name.clone(), machine);
            }
        })
        .await
    }

    async fn remove(&self, name: &str) -> Result<(), MachineError> {
        self.call(|state| drop(state.machines.remove(name))).await
    }

    async fn marked(&self, mark: &str) -> Result<Vec<Machine>, MachineError> {
        self.call(|state| {
            let all = state.machines.values();
            all.filter(|machine| machine.mark == mark)
                .cloned()
                .collect()
        })
        .await
    }
}
