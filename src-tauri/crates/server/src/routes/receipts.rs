//! `GET /admin/requests` and `GET /admin/requests/{id}`: how the last requests went.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use serde::Serialize;

use crate::app::App;
use crate::error::ApiError;
use crate::receipts::Receipt;
use crate::routes::chosen::Named;

/// The last receipts, the latest first.
#[derive(Debug, Serialize)]
pub(crate) struct Listed {
    object: &'static str,
    data: Vec<Shown>,
}

/// One receipt.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct Shown {
    #[serde(serialize_with = "inner")]
    receipt: Arc<Receipt>,
}

/// `GET /admin/requests`, of all profiles or of the one that is named
pub(crate) async fn list(State(app): State<App>, Named(profile): Named) -> Result<Json<Listed>, ApiError> {
    let wanted = |receipt: &Arc<Receipt>| {
        profile.as_ref().is_none_or(|profile| receipt.profile() == Some(profile.id()))
    };
    let data = app.receipts.latest().into_iter().filter(wanted).map(|receipt| Shown { receipt }).collect();
    Ok(Json(Listed { object: "list", data }))
}

/// `GET /admin/requests/{id}`
pub(crate) async fn one(State(app): State<App>, Path(id): Path<String>) -> Result<Json<Shown>, ApiError> {
    let found = app.receipts.find(&id).map(|receipt| Json(Shown { receipt }));
    found.ok_or_else(|| ApiError::ReceiptNotFound { id: id.chars().take(128).collect() })
}

fn inner<S: serde::Serializer>(receipt: &Arc<Receipt>, serializer: S) -> Result<S::Ok, S::Error> {
    receipt.serialize(serializer)
}
