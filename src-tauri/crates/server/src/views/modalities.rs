//! What a profile takes in, as clients read it.

use hangar_config::Modality;
use serde::Serialize;

use crate::served::Look;

/// Configured, supported by the loaded or published model, and both of them as far as this build goes.
#[derive(Debug, Serialize)]
pub(crate) struct Modalities {
    configured: Vec<&'static str>,
    backend_supported: Vec<&'static str>,
    effective: Vec<&'static str>,
    vision: Vision,
    strict_capability_check: bool,
}

#[derive(Debug, Serialize)]
struct Vision {
    configured: bool,
    effective: bool,
}

impl Modalities {
    /// What the model has towers for is known once it was loaded, or from its files; before, what it was published
    /// with.
    pub(crate) fn look(look: &Look<'_>) -> Self {
        let settings = &look.profile.modalities;
        let supports = |modality| look.towers.support(modality);
        let words = |takes: &dyn Fn(Modality) -> bool| {
            Modality::ALL.into_iter().filter(|modality| takes(*modality)).map(Modality::word).collect()
        };
        let configured = |modality| settings.policy(modality).enabled;
        let effective = |modality| configured(modality) && supports(modality);
        Self {
            configured: words(&configured),
            backend_supported: words(&supports),
            effective: words(&effective),
            vision: Vision { configured: configured(Modality::Image), effective: effective(Modality::Image) },
            strict_capability_check: settings.strict_capability_check,
        }
    }
}
