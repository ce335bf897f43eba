//! Which profiles there are, and which layers each of them is made of. No IO.

use std::path::PathBuf;

use serde_json::Value;

use crate::error::ConfigError;
use crate::load::SettledValue;
use crate::merge::{Adjustment, Merged, Origin};
use crate::profile::{Profile, Profiles};
use crate::raw::{Layer, ProfileLayer};
use crate::resolve::{self, Sources};
use crate::settings::Settings;
use crate::shipped::{DEFAULT_PROFILE, Shipped};
use crate::value::ProfileId;

/// Keys that say what a model is. Where the top level of a local file names a model, these are of that
/// model alone; everything else there is for all profiles.
const OF_ONE_MODEL: [&str; 8] = [
    "model.id",
    "model.path",
    "model.repo",
    "model.nativeWindowTokens",
    "model.inputs",
    "model.weightsGb",
    "governor.rssEstimateLoadedGb",
    "governor.priority",
];
/// The same for the backend, which goes by the model.
const BACKEND: &str = "worker.backend";

/// All layers as they were read.
#[derive(Debug)]
pub(crate) struct Layers {
    pub(crate) defaults: Layer,
    pub(crate) shipped: Vec<Shipped>,
    pub(crate) local: Layer,
    pub(crate) over: Vec<(&'static str, Value, Origin)>,
    pub(crate) local_file: String,
    pub(crate) local_folder: PathBuf,
    pub(crate) user_home: Option<PathBuf>,
    pub(crate) governor_dir: PathBuf,
}

/// Settings with where they came from.
#[derive(Debug)]
pub(crate) struct Composed {
    pub(crate) settings: Settings,
    pub(crate) adjustments: Vec<Adjustment>,
    pub(crate) values: Vec<SettledValue>,
}

/// One profile before its layers are laid over each other.
struct Plan {
    id: ProfileId,
    shipped: Option<Shipped>,
    own: Option<ProfileLayer>,
    /// Whether the top level of the local file is about this model.
    is_top_level: bool,
}

/// Makes settings of the layers.
///
/// # Errors
/// [`ConfigError::Invalid`] names the file, the path and what was expected.
pub(crate) fn compose(mut layers: Layers) -> Result<Composed, ConfigError> {
    let own_profiles = std::mem::take(&mut layers.local.profiles);
    let (plans, default) = plan(&layers, own_profiles)?;
    let sources = Sources {
        local_file: layers.local_file.clone(),
        local_folder: layers.local_folder.clone(),
        user_home: layers.user_home.clone(),
        governor_dir: layers.governor_dir.clone(),
    };
    let mut adjustments = Vec::new();
    let mut service = Merged::default();
    service.lay(&layers.defaults, &Origin::Default);
    service.lay(&layers.local, &Origin::Local);
    lay_over(&mut service, &layers.over);
    service.set("defaultProfile", default.as_str(), default_origin(&layers.local));
    let (server, governor, log_level) = resolve::service(&mut service, &sources)?;
    let mut values = settled(&service, None);
    let mut profiles = Vec::with_capacity(plans.len());
    for plan in &plans {
        let mut merged = lay(plan, &layers);
        let shipped = plan.shipped.as_ref().map(|shipped| &shipped.id);
        profiles.push(resolve::profile(&plan.id, shipped, &mut merged, &sources, &mut adjustments)?);
        values.extend(settled(&merged, Some(&plan.id)));
    }
    refuse_shared_names(&profiles, &layers.local_file)?;
    let at = profiles.iter().position(|profile| profile.id == default).unwrap_or_default();
    let default = profiles.remove(at);
    let settings = Settings { server, profiles: Profiles::new(default, profiles), governor, log_level };
    Ok(Composed { settings, adjustments, values })
}

/// Which profiles there are, and which of them is the default.
fn plan(
    layers: &Layers,
    own: std::collections::BTreeMap<ProfileId, ProfileLayer>,
) -> Result<(Vec<Plan>, ProfileId), ConfigError> {
    let local = &layers.local;
    let mut plans: Vec<Plan> = layers
        .shipped
        .iter()
        .map(|shipped| Plan {
            id: shipped.id.clone(),
            shipped: Some(shipped.clone()),
            own: None,
            is_top_level: false,
        })
        .collect();
    let named = top_level(layers, &mut plans)?;
    for (id, layer) in own {
        match plans.iter_mut().find(|plan| plan.id == id) {
            Some(plan) => plan.own = Some(layer),
            None => plans.push(Plan { id, shipped: None, own: Some(layer), is_top_level: false }),
        }
    }
    let Some(chosen) = &local.default_profile else {
        let first = named.or_else(|| ProfileId::read(DEFAULT_PROFILE));
        let first = first.filter(|first| plans.iter().any(|plan| plan.id == *first));
        let default = first.unwrap_or_else(|| plans[0].id.clone());
        return Ok((plans, default));
    };
    if plans.iter().any(|plan| plan.id == *chosen) {
        return Ok((plans, chosen.clone()));
    }
    let known: Vec<&str> = plans.iter().map(|plan| plan.id.as_str()).collect();
    let expected = format!("expected the name of a profile; there are {}", known.join(", "));
    Err(ConfigError::at(&layers.local_file, "defaultProfile", expected))
}

/// The profile that the top level of the local file is about: an earlier service's file names its model there.
fn top_level(layers: &Layers, plans: &mut Vec<Plan>) -> Result<Option<ProfileId>, ConfigError> {
    let model = &layers.local.model;
    if model.id.is_none() && model.path.is_none() && model.repository.is_none() {
        return Ok(None);
    }
    let id = model.id.as_ref().map(|id| id.as_str().to_owned());
    let meant = plans.iter().position(|plan| {
        let known = plan.shipped.as_ref().and_then(|shipped| shipped.layer.model.id.as_ref());
        id.as_deref() == Some(plan.id.as_str()) || known.map(|known| known.as_str()) == id.as_deref()
    });
    if let Some(meant) = meant {
        if model.path.is_none() && model.repository.is_none() {
            return Ok(Some(plans[meant].id.clone()));
        }
        // A copy of a model that the program knows: what is known of it holds for the copy too, and there
        // cannot be two profiles of one name.
        let known = plans.remove(meant);
        let id = profile_id(id.as_deref().unwrap_or_default(), &layers.local_file)?;
        plans.insert(0, Plan { id: id.clone(), is_top_level: true, ..known });
        return Ok(Some(id));
    }
    if model.path.is_none() && model.repository.is_none() {
        let expected = "expected a folder, or a model.id that is the name of a shipped profile";
        return Err(ConfigError::at(&layers.local_file, "model.path", expected));
    }
    let name = id.unwrap_or_else(|| resolve::model_name(model));
    let id = profile_id(&name, &layers.local_file)?;
    plans.insert(0, Plan { id: id.clone(), shipped: None, own: None, is_top_level: true });
    Ok(Some(id))
}

/// A profile's name made of a model's, which may hold what cannot stand in an address.
fn profile_id(name: &str, file: &str) -> Result<ProfileId, ConfigError> {
    let plain = |character: char| {
        if character.is_ascii_alphanumeric() || "._-".contains(character) { character } else { '-' }
    };
    let text: String = name.chars().take(100).map(plain).collect();
    ProfileId::read(&text).ok_or_else(|| ConfigError::at(file, "model.id", "expected a name"))
}

fn lay(plan: &Plan, layers: &Layers) -> Merged {
    let mut merged = Merged::default();
    merged.lay(&layers.defaults, &Origin::Default);
    if let Some(shipped) = &plan.shipped {
        merged.lay(&shipped.layer, &Origin::Shipped(shipped.id.clone()));
    }
    let names_a_model = {
        let model = &layers.local.model;
        model.id.is_some() || model.path.is_some() || model.repository.is_some()
    };
    if names_a_model && !plan.is_top_level {
        let without: Vec<&str> = OF_ONE_MODEL.into_iter().chain([BACKEND]).collect();
        merged.lay_without(&layers.local, &Origin::Local, &without);
    } else {
        merged.lay(&layers.local, &Origin::Local);
    }
    if let Some(own) = &plan.own {
        merged.lay(own, &Origin::LocalProfile(plan.id.clone()));
    }
    lay_over(&mut merged, &layers.over);
    merged
}

fn lay_over(merged: &mut Merged, over: &[(&'static str, Value, Origin)]) {
    for (path, value, origin) in over {
        merged.set(path, value.clone(), origin.clone());
    }
}

fn default_origin(local: &Layer) -> Origin {
    if local.default_profile.is_some() { Origin::Local } else { Origin::Derived }
}

/// The values of the service, or those of one profile.
fn settled(merged: &Merged, profile: Option<&ProfileId>) -> Vec<SettledValue> {
    let is_of_service = |path: &str| {
        path == "defaultProfile"
            || path.starts_with("server.")
            || path.starts_with("logging.")
            || path.starts_with("governor.") && !OF_ONE_MODEL.contains(&path)
    };
    let wanted = |path: &str| path != "$schema" && is_of_service(path) == profile.is_none();
    let value = |path: &str, value: &Value| match path {
        "server.apiKey" => Value::from("(set, not shown)"),
        _ => value.clone(),
    };
    merged
        .iter()
        .filter(|(path, ..)| wanted(path))
        .map(|(path, found, origin)| SettledValue {
            profile: profile.cloned(),
            path: path.to_owned(),
            value: value(path, found),
            origin: origin.clone(),
        })
        .collect()
}

/// A name that clients send must mean one profile.
fn refuse_shared_names(profiles: &[Profile], local_file: &str) -> Result<(), ConfigError> {
    for (at, profile) in profiles.iter().enumerate() {
        for other in &profiles[..at] {
            let names = |profile: &Profile| [profile.id.to_string(), profile.model_id.clone()];
            if let Some(shared) = names(profile).into_iter().find(|name| names(other).contains(name)) {
                let path = format!("profiles.{}.model.id", profile.id);
                let expected =
                    format!("expected a name of its own: {shared} already means profile {}", other.id);
                return Err(ConfigError::at(local_file, path, expected));
            }
        }
    }
    Ok(())
}
