//! What is answered to which address.

use super::access::{Access, Rules};
use super::events;
use crate::metrics;
use crate::page::Page;
use crate::published::Published;
use crate::push::Dropped;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY, SET_COOKIE,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, Response, StatusCode};
use axum::middleware::{self, Next};
use axum::routing::get;
use std::sync::Arc;
use tokio::sync::watch;

const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";
const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const EVENTS: &str = "text/event-stream";

/// What all answers share.
struct Shared {
    rules: Rules,
    page: Page,
    states: watch::Receiver<Arc<Published>>,
    dropped: Dropped,
}

impl Shared {
    fn newest_state(&self) -> Arc<Published> {
        self.states.borrow().clone()
    }
}

/// All addresses.
pub(super) fn all_routes(rules: Rules, states: watch::Receiver<Arc<Published>>, dropped: Dropped) -> Router {
    let shared = Arc::new(Shared { rules, page: Page::new(), states, dropped });
    Router::new()
        .route("/", get(page_answer))
        .route("/events", get(event_stream))
        .route("/snapshot.json", get(snapshot_answer))
        .route("/metrics", get(metrics_page))
        .fallback(not_found)
        .layer(middleware::from_fn_with_state(Arc::clone(&shared), guard_answer))
        .with_state(shared)
}

/// Lets through what may be answered, and adds to every answer what keeps browsers from doing more with it than showing it.
async fn guard_answer(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response<Body> {
    let mut answer = match shared.rules.access_for(request.method(), request.uri(), request.headers()) {
        Access::Granted => next.run(request).await,
        Access::KeepToken => with_header(
            with_header(plain_text(StatusCode::SEE_OTHER, ""), LOCATION, "/"),
            SET_COOKIE,
            &shared.rules.cookie_line(),
        ),
        Access::NotAllowed => with_header(
            plain_text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are answered\n"),
            ALLOW,
            "GET, HEAD",
        ),
        Access::OtherHost => plain_text(
            StatusCode::MISDIRECTED_REQUEST,
            "this host has another name; ask by its address, or start with --host-name NAME\n",
        ),
        Access::NoToken => plain_text(
            StatusCode::UNAUTHORIZED,
            "a token is needed: open the address that was printed at the start, which ends in /?t=TOKEN\n",
        ),
    };
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, shared.page.policy.as_str()),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
    ] {
        answer = with_header(answer, name, value);
    }
    answer
}

async fn page_answer(State(shared): State<Arc<Shared>>) -> Response<Body> {
    body_of_type(HTML, shared.page.document.clone())
}

async fn snapshot_answer(State(shared): State<Arc<Shared>>) -> Response<Body> {
    body_of_type(JSON, shared.newest_state().snapshot_text())
}

async fn event_stream(State(shared): State<Arc<Shared>>) -> Response<Body> {
    body_of_type(EVENTS, Body::from_stream(events::stream_for_reader(shared.states.clone())))
}

async fn metrics_page(State(shared): State<Arc<Shared>>) -> Response<Body> {
    match metrics::as_text(shared.newest_state(), shared.dropped.count()) {
        Ok(text) => body_of_type(METRICS, text),
        Err(_) => plain_text(StatusCode::INTERNAL_SERVER_ERROR, "the metrics could not be written\n"),
    }
}

async fn not_found() -> Response<Body> {
    plain_text(StatusCode::NOT_FOUND, "there are /, /events, /snapshot.json and /metrics\n")
}

fn body_of_type(kind: &'static str, body: impl Into<Body>) -> Response<Body> {
    with_header(Response::new(body.into()), CONTENT_TYPE, kind)
}

fn plain_text(status: StatusCode, text: &'static str) -> Response<Body> {
    let mut answer = body_of_type(TEXT, text);
    *answer.status_mut() = status;
    answer
}

fn with_header(mut answer: Response<Body>, name: axum::http::HeaderName, value: &str) -> Response<Body> {
    if let Ok(value) = HeaderValue::from_str(value) {
        answer.headers_mut().insert(name, value);
    }
    answer
}
