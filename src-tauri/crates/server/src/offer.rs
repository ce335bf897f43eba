//! What a profile takes in: configured, and as far as its model has a tower for it.

use std::sync::Arc;

use hangar_config::{Modality, Profile};

/// Which towers a model has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Towers {
    /// Pictures.
    pub(crate) image: bool,
    /// Sound.
    pub(crate) audio: bool,
}

impl Towers {
    /// As the loaded model says, else its files, else what it was published with, else nothing.
    pub(crate) fn known(profile: &Profile, loaded: Option<Self>, files: Option<Self>) -> Self {
        loaded.or(files).unwrap_or_else(|| {
            let published = profile.modalities.published.as_ref();
            let has = |modality| published.is_some_and(|published| published.contains(&modality));
            Self { image: has(Modality::Image), audio: has(Modality::Audio) }
        })
    }

    /// Whether the model can take a kind at all.
    pub(crate) fn support(self, modality: Modality) -> bool {
        match modality {
            Modality::Text => true,
            Modality::Image => self.image,
            Modality::Audio => self.audio,
            Modality::Video | Modality::Document => false,
        }
    }
}

/// What one profile takes at this moment.
#[derive(Clone, Debug)]
pub(crate) struct Offer {
    /// Its settings.
    pub(crate) profile: Arc<Profile>,
    towers: Towers,
}

impl Offer {
    /// The offer of a profile whose model has these towers.
    pub(crate) fn new(profile: Arc<Profile>, towers: Towers) -> Self {
        Self { profile, towers }
    }

    /// Whether a kind is switched on and the model can take it.
    pub(crate) fn takes(&self, modality: Modality) -> bool {
        self.profile.modalities.policy(modality).enabled && self.towers.support(modality)
    }
}
