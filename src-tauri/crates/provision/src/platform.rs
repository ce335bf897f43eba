//! The platforms a runtime is locked for.

use crate::ProvisionError;

/// A platform with a lock of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Platform {
    /// Linux on 64-bit Intel and AMD.
    LinuxX86_64,
    /// Linux on 64-bit ARM.
    LinuxAarch64,
    /// macOS on Apple silicon.
    MacosArm64,
}

impl Platform {
    /// The platform this program was built for.
    ///
    /// # Errors
    /// [`ProvisionError::PlatformUnsupported`] where no lock exists.
    pub fn current() -> Result<Self, ProvisionError> {
        Self::named(std::env::consts::OS, std::env::consts::ARCH)
    }

    /// The platform of an operating system and processor as Rust names them.
    ///
    /// # Errors
    /// [`ProvisionError::PlatformUnsupported`] where no lock exists.
    pub fn named(system: &str, processor: &str) -> Result<Self, ProvisionError> {
        match (system, processor) {
            ("linux", "x86_64") => Ok(Self::LinuxX86_64),
            ("linux", "aarch64") => Ok(Self::LinuxAarch64),
            ("macos", "aarch64") => Ok(Self::MacosArm64),
            _ => Err(ProvisionError::PlatformUnsupported { platform: format!("{system} on {processor}") }),
        }
    }

    /// File name of the platform's hash-locked requirements.
    pub fn requirements_name(self) -> &'static str {
        match self {
            Self::LinuxX86_64 => "requirements-linux-x86_64.txt",
            Self::LinuxAarch64 => "requirements-linux-aarch64.txt",
            Self::MacosArm64 => "requirements-macos-arm64.txt",
        }
    }

    /// The processor as Python's `platform.machine()` says it on this platform.
    pub fn python_machine(self) -> &'static str {
        match self {
            Self::LinuxX86_64 => "x86_64",
            Self::LinuxAarch64 => "aarch64",
            Self::MacosArm64 => "arm64",
        }
    }

    /// Whether this is macOS.
    pub fn is_macos(self) -> bool {
        match self {
            Self::MacosArm64 => true,
            Self::LinuxX86_64 | Self::LinuxAarch64 => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_platform_has_requirements_of_its_own() {
        let names = [("linux", "x86_64"), ("linux", "aarch64"), ("macos", "aarch64")]
            .map(|(system, processor)| Platform::named(system, processor).unwrap().requirements_name());
        assert_eq!(
            names,
            [
                "requirements-linux-x86_64.txt",
                "requirements-linux-aarch64.txt",
                "requirements-macos-arm64.txt"
            ]
        );
    }

    #[test]
    fn an_intel_mac_is_refused_by_name() {
        let error = Platform::named("macos", "x86_64").unwrap_err();
        assert_eq!(error.to_string(), "no runtime is locked for macos on x86_64");
        assert!(error.hint().unwrap().contains("Apple silicon"));
    }
}
