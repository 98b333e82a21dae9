//! Hands one message over: a connection, a request, an answer.

use super::destination::Destination;
use axum::body::Body;
use bytes::Bytes;
use hyper::Request;
use hyper::header::{CONNECTION, CONTENT_TYPE, HOST, USER_AGENT};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// What became of a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The receiver has it.
    Taken,
    /// It will never take it, for this reason.
    Refused(String),
    /// It did not take it now, for this reason.
    Later(String),
}

/// Answers behind which a message is sent once more (OTLP over HTTP, "retryable response codes").
const LATER: [u16; 4] = [429, 502, 503, 504];

/// Sends a message.
pub(super) async fn post_message(destination: &Destination, message: Bytes) -> Answer {
    match request_status(destination, message).await {
        Ok(200..=299) => Answer::Taken,
        Ok(status) if LATER.contains(&status) => Answer::Later(format!("it answered {status}")),
        Ok(status) => Answer::Refused(format!("it answered {status}")),
        Err(why) => Answer::Later(why),
    }
}

async fn request_status(destination: &Destination, message: Bytes) -> Result<u16, String> {
    let Destination { host, port, path } = destination;
    let stream = TcpStream::connect((host.as_str(), *port)).await.map_err(|e| e.to_string())?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|e| e.to_string())?;
    let name = if host.contains(':') { format!("[{host}]") } else { host.clone() };
    let request = Request::post(path)
        .header(HOST, format!("{name}:{port}"))
        .header(CONTENT_TYPE, "application/x-protobuf")
        .header(USER_AGENT, "assay")
        .header(CONNECTION, "close")
        .body(Body::from(message))
        .map_err(|e| e.to_string())?;
    let answer = sender.send_request(request);
    tokio::pin!(answer, connection);
    // The connection carries the answer, and may end with it: then the answer is there, or will never be.
    let answer = tokio::select! {
        biased;
        answer = &mut answer => answer,
        _ = &mut connection => answer.await,
    };
    answer.map(|answer| answer.status().as_u16()).map_err(|e| e.to_string())
}
