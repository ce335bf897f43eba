//! Memory of processes and of the machine, in bytes. What cannot be measured is none and never 0.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;

use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

/// Reads memory; a reading may take some milliseconds.
pub trait MemoryProbe: Debug + Send + Sync + 'static {
    /// What the system charges a process, in bytes; none for one that is gone or not ours.
    fn process_bytes(&self, pid: u32) -> Option<u64>;

    /// What new work could take without paging others out, in bytes.
    fn available_bytes(&self) -> Option<u64>;
}

/// The probe of this system.
pub fn system() -> Arc<dyn MemoryProbe> {
    Arc::new(SystemMemory)
}

/// How much came back with the end of a process, from readings before and after: never more than it held, and what
/// it held itself where the machine's other work hides the gain.
pub fn freed_bytes(
    held_before_bytes: Option<u64>,
    available_before_bytes: Option<u64>,
    available_after_bytes: Option<u64>,
) -> Option<u64> {
    let held = held_before_bytes?;
    match available_after_bytes?.checked_sub(available_before_bytes?) {
        Some(gained) if gained > 0 => Some(gained.min(held)),
        Some(_) | None => Some(held),
    }
}

#[derive(Clone, Copy, Debug)]
struct SystemMemory;

impl MemoryProbe for SystemMemory {
    #[cfg(target_os = "linux")]
    fn process_bytes(&self, pid: u32) -> Option<u64> {
        linux::process_bytes(pid)
    }

    #[cfg(target_os = "linux")]
    fn available_bytes(&self) -> Option<u64> {
        linux::available_bytes()
    }

    #[cfg(target_os = "macos")]
    fn process_bytes(&self, pid: u32) -> Option<u64> {
        macos::process_bytes(pid)
    }

    #[cfg(target_os = "macos")]
    fn available_bytes(&self) -> Option<u64> {
        macos::available_bytes()
    }
}

/// Readings that are given, for tests: the last one of each kind repeats.
#[derive(Debug, Default)]
pub struct FakeMemory {
    process: Mutex<Vec<Option<u64>>>,
    available: Mutex<Vec<Option<u64>>>,
}

impl FakeMemory {
    /// Answers with these readings, in order.
    pub fn new(process: &[Option<u64>], available: &[Option<u64>]) -> Self {
        let turned = |readings: &[Option<u64>]| Mutex::new(readings.iter().rev().copied().collect());
        Self { process: turned(process), available: turned(available) }
    }
}

impl MemoryProbe for FakeMemory {
    fn process_bytes(&self, _: u32) -> Option<u64> {
        next(&self.process)
    }

    fn available_bytes(&self) -> Option<u64> {
        next(&self.available)
    }
}

fn next(readings: &Mutex<Vec<Option<u64>>>) -> Option<u64> {
    let mut readings = readings.lock().unwrap_or_else(PoisonError::into_inner);
    if readings.len() > 1 { readings.pop().flatten() } else { readings.first().copied().flatten() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_and_this_machine_have_memory_and_a_process_that_is_not_there_has_none() {
        let probe = system();
        let ours = probe.process_bytes(std::process::id()).expect("our own memory can be read");
        assert!((1 << 20..1 << 40).contains(&ours), "{ours}");
        let available = probe.available_bytes().expect("the machine's memory can be read");
        assert!((1 << 20..1 << 50).contains(&available), "{available}");
        assert_eq!(probe.process_bytes(u32::MAX - 1), None);
    }

    #[test]
    fn memory_that_a_process_takes_is_seen() {
        let probe = system();
        let before = probe.process_bytes(std::process::id()).expect("our own memory can be read");
        let taken = std::hint::black_box(vec![1_u8; 64 << 20]);
        let after = probe.process_bytes(std::process::id()).expect("our own memory can be read");
        assert!(after > before + (48 << 20), "{before} to {after}");
        drop(taken);
    }

    #[test]
    fn what_came_back_is_never_more_than_was_held_and_never_guessed() {
        assert_eq!(freed_bytes(Some(30), Some(100), Some(125)), Some(25));
        assert_eq!(freed_bytes(Some(30), Some(100), Some(190)), Some(30));
        assert_eq!(freed_bytes(Some(30), Some(100), Some(90)), Some(30));
        assert_eq!(freed_bytes(Some(30), Some(100), Some(100)), Some(30));
        for unread in [
            freed_bytes(None, Some(1), Some(2)),
            freed_bytes(Some(1), None, Some(2)),
            freed_bytes(Some(1), Some(2), None),
        ] {
            assert_eq!(unread, None);
        }
    }

    #[test]
    fn a_fake_gives_its_readings_in_order_and_repeats_the_last() {
        let fake = FakeMemory::new(&[Some(5), None], &[Some(1)]);
        assert_eq!(
            [fake.process_bytes(1), fake.process_bytes(1), fake.process_bytes(1)],
            [Some(5), None, None]
        );
        assert_eq!([fake.available_bytes(), fake.available_bytes()], [Some(1), Some(1)]);
    }
}
