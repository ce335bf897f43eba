//! What comes with the program: defaults, and the profiles of models it knows.

use crate::error::ConfigError;
use crate::raw::{Layer, ProfileLayer};
use crate::read::read_embedded;
use crate::value::ProfileId;

/// The profile that is served when nobody says otherwise.
pub(crate) const DEFAULT_PROFILE: &str = "pocket";
/// Name of the embedded file of defaults.
pub(crate) const DEFAULT_FILE: &str = "config/default.json";

macro_rules! shipped {
    ($($id:literal),*) => {
        /// In the order they are shown in.
        const PROFILES: &[(&str, &str, &str)] = &[$((
            $id,
            concat!("config/profiles/", $id, ".json"),
            include_str!(concat!("../../../../config/profiles/", $id, ".json")),
        )),*];
    };
}
shipped!("pocket", "26b", "e2b", "e4b", "diffusion", "31b");

/// A profile that comes with the program.
#[derive(Clone, Debug)]
pub(crate) struct Shipped {
    /// Its name.
    pub(crate) id: ProfileId,
    /// What is known of it.
    pub(crate) layer: ProfileLayer,
}

/// The embedded defaults.
pub(crate) fn defaults() -> Result<Layer, ConfigError> {
    read_embedded(DEFAULT_FILE, include_str!("../../../../config/default.json"))
}

/// All shipped profiles.
pub(crate) fn profiles() -> Result<Vec<Shipped>, ConfigError> {
    let read = |(id, file, text): &(&str, &str, &str)| {
        let layer = read_embedded(file, text)?;
        let id = ProfileId::read(id).ok_or_else(|| ConfigError::at(file, ".", "no name of a profile"))?;
        Ok(Shipped { id, layer })
    };
    PROFILES.iter().map(read).collect()
}

/// Name of the file a shipped profile is in.
pub(crate) fn file_of(profile: &ProfileId) -> String {
    format!("config/profiles/{profile}.json")
}
