//! Readings from the kernel of macOS.
#![expect(unsafe_code, reason = "the kernel's calls fill structures of C")]

use std::mem::{MaybeUninit, size_of};

/// The footprint, which counts Metal's memory too and is what the system itself judges a process by.
pub(super) fn process_bytes(pid: u32) -> Option<u64> {
    let pid = i32::try_from(pid).ok()?;
    let mut usage = MaybeUninit::<libc::rusage_info_v4>::zeroed();
    // SAFETY: the flavor names the structure that is handed over, which the call fills and does not keep.
    let done = unsafe { libc::proc_pid_rusage(pid, libc::RUSAGE_INFO_V4, usage.as_mut_ptr().cast()) };
    if done != 0 {
        return None;
    }
    // SAFETY: zeroed before, and filled by a call that succeeded.
    Some(unsafe { usage.assume_init() }.ri_phys_footprint)
}

/// Pages that are free or can be had without paging out: purgeable ones and those of files.
pub(super) fn available_bytes() -> Option<u64> {
    let mut pages = MaybeUninit::<libc::vm_statistics64>::zeroed();
    let mut words = u32::try_from(size_of::<libc::vm_statistics64>() / size_of::<libc::integer_t>()).ok()?;
    // SAFETY: the count says how many words the structure holds; the call fills no more of them.
    let done = unsafe {
        libc::host_statistics64(host(), libc::HOST_VM_INFO64, pages.as_mut_ptr().cast(), &raw mut words)
    };
    if done != libc::KERN_SUCCESS {
        return None;
    }
    // SAFETY: zeroed before, and filled by a call that succeeded.
    let pages = unsafe { pages.assume_init() };
    // SAFETY: asks the system for a number.
    let page_bytes = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
    let available =
        u64::from(pages.free_count) + u64::from(pages.purgeable_count) + u64::from(pages.external_page_count);
    available.checked_mul(page_bytes)
}

#[expect(deprecated, reason = "its replacement is another crate for this one call")]
fn host() -> libc::mach_port_t {
    // SAFETY: takes nothing and gives the port of this host.
    unsafe { libc::mach_host_self() }
}
