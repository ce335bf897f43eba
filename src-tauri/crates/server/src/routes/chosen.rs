//! Which profile an admin route speaks of: `/profiles/{id}` before it, `?profile=` behind it, or the default.

use axum::extract::{FromRequestParts, Query, RawPathParams};
use axum::http::request::Parts;
use serde::Deserialize;

use crate::app::App;
use crate::error::ApiError;
use crate::served::Served;

/// The profile that is named, if one is.
pub(crate) struct Named(pub(crate) Option<Served>);

/// The profile that is meant.
pub(crate) struct Chosen(pub(crate) Served);

#[derive(Deserialize)]
struct Asked {
    profile: Option<String>,
}

impl FromRequestParts<App> for Chosen {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let Named(named) = Named::from_request_parts(parts, app).await?;
        Ok(Self(named.unwrap_or_else(|| app.roster.default().clone())))
    }
}

impl FromRequestParts<App> for Named {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let params = RawPathParams::from_request_parts(parts, app).await.map_err(|_| ApiError::Internal)?;
        let before = params.iter().find(|(key, _)| *key == "profile").map(|(_, value)| value.to_owned());
        let Query(asked) = Query::<Asked>::from_request_parts(parts, app).await.map_err(|_| {
            let what = "The query cannot be read. Send ?profile= with the name of one profile.".to_owned();
            ApiError::BadRequest { param: Some("profile".to_owned()), what }
        })?;
        let name = before.or(asked.profile);
        name.map(|name| app.roster.find(Some(&name)).cloned()).transpose().map(Self)
    }
}
