//! What keeps the system from slowing a service that has no window, and from sleeping in the middle of an answer.

#[cfg(target_os = "macos")]
mod macos;

use std::fmt::Debug;
use std::sync::Arc;

/// Why the system is to hold back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The service runs: no nap for this process, while the machine may sleep.
    Serving,
    /// A request runs: the machine does not fall asleep for want of a user; closing the lid still works.
    Answering,
}

/// Asks the system to hold back.
pub trait Wakefulness: Debug + Send + Sync + 'static {
    /// Holds for as long as the returned value lives.
    fn hold(&self, reason: Reason) -> Awake;
}

/// A hold on the system; dropping it lets go.
pub struct Awake(Option<Box<dyn FnOnce() + Send + Sync>>);

impl Awake {
    /// A hold that runs `release` when it is let go.
    pub fn until(release: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self(Some(Box::new(release)))
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        if let Some(release) = self.0.take() {
            release();
        }
    }
}

impl Debug for Awake {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Awake")
    }
}

/// The holds of this system; Linux neither naps processes nor is a server there to keep it awake.
pub fn system() -> Arc<dyn Wakefulness> {
    #[cfg(target_os = "macos")]
    return Arc::new(macos::Activities);
    #[cfg(not(target_os = "macos"))]
    return Arc::new(NothingToHold);
}

#[cfg(not(target_os = "macos"))]
#[derive(Clone, Copy, Debug)]
struct NothingToHold;

#[cfg(not(target_os = "macos"))]
impl Wakefulness for NothingToHold {
    fn hold(&self, _: Reason) -> Awake {
        Awake(None)
    }
}

/// Counts holds, for tests.
#[derive(Clone, Debug, Default)]
pub struct FakeWakefulness {
    held: Arc<std::sync::Mutex<Vec<Reason>>>,
}

impl FakeWakefulness {
    /// The reasons that hold now.
    pub fn held(&self) -> Vec<Reason> {
        self.held.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }
}

impl Wakefulness for FakeWakefulness {
    fn hold(&self, reason: Reason) -> Awake {
        let held = Arc::clone(&self.held);
        held.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(reason);
        Awake::until(move || {
            let mut held = held.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if let Some(at) = held.iter().position(|one| *one == reason) {
                held.remove(at);
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hold_ends_with_its_value() {
        let fake = FakeWakefulness::default();
        let serving = fake.hold(Reason::Serving);
        let answering = fake.hold(Reason::Answering);
        assert_eq!(fake.held(), [Reason::Serving, Reason::Answering]);
        drop(answering);
        assert_eq!(fake.held(), [Reason::Serving]);
        drop(serving);
        assert_eq!(fake.held(), []);
    }

    #[test]
    fn the_system_can_be_held_and_let_go_again() {
        let system = system();
        drop((system.hold(Reason::Serving), system.hold(Reason::Answering)));
    }
}
