//! Readings from `/proc`.

use std::fs::read_to_string;

/// The process's proportional share, or its resident set where the kernel does not tell the share.
pub(super) fn process_bytes(pid: u32) -> Option<u64> {
    let share = read_to_string(format!("/proc/{pid}/smaps_rollup")).ok();
    share.as_deref().and_then(|text| field(text, "Pss:")).or_else(|| {
        let status = read_to_string(format!("/proc/{pid}/status")).ok()?;
        field(&status, "VmRSS:")
    })
}

pub(super) fn available_bytes() -> Option<u64> {
    field(&read_to_string("/proc/meminfo").ok()?, "MemAvailable:")
}

/// The value of a line such as `Pss:   123 kB`, in bytes.
fn field(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_read_in_bytes_and_anything_else_is_none() {
        let text = "Name:\tx\nVmRSS:\t   12 kB\nPss_Anon:  3 kB\nPss:  4 kB\n";
        assert_eq!(field(text, "VmRSS:"), Some(12 * 1024));
        assert_eq!(field(text, "Pss:"), Some(4 * 1024));
        assert_eq!(field(text, "Name:"), None);
        assert_eq!(field(text, "MemAvailable:"), None);
        assert_eq!(field("Pss: 18446744073709551615 kB", "Pss:"), None);
    }
}
