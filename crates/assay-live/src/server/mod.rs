//! Answers requests with what was published last: one thread, no state of its own but the connections.
//!
//! It changes nothing and takes nothing but GET and HEAD. A connection costs little and is bounded in everything that its other end
//! decides: how many there are, how long a request is, how long it takes. `access` says who may ask, `routes` what is answered,
//! `events` how a page is kept up to date.

pub mod access;
mod events;
mod routes;

use crate::published::Published;
use crate::push::{Dropped, Push, finish_within_time, push_states};
use access::Rules;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustix::net::sockopt::set_tcp_user_timeout;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// The most connections at a time; others are closed at once.
const CONNECTIONS: usize = 256;
/// The most bytes of a request's head.
const LONGEST_HEAD: usize = 8 << 10;
/// How long a request may take to arrive, and how long a connection may be without one.
const REQUEST_TIME: Duration = Duration::from_secs(10);
/// How long nothing is accepted after that failed, because the process has no descriptor left.
const NOT_ACCEPTING: Duration = Duration::from_millis(200);

/// How long nothing may be taken of what was sent, before the connection is ended.
const TAKING_TIME: Duration = Duration::from_secs(30);

/// Answers requests on `listener` by these rules, until `linger` after the state that says that nothing more will come; and pushes each
/// state, if there is somewhere to push it.
///
/// # Errors
/// The system lets nobody listen or wait.
pub fn serve(
    listener: std::net::TcpListener,
    rules: Rules,
    states: watch::Receiver<Arc<Published>>,
    linger: Duration,
    push: Option<Push>,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    runtime.block_on(async {
        let listener = TcpListener::from_std(listener)?;
        let dropped = Dropped::default();
        let answers = routes::all_routes(rules, states.clone(), dropped.clone());
        let pushing = push_if_asked(push, states.clone(), dropped);
        let serving = serve_until_end(listener, answers, states, linger);
        tokio::pin!(pushing, serving);
        tokio::select! {
            () = &mut serving => finish_within_time(pushing).await,
            () = &mut pushing => serving.await,
        }
        Ok(())
    })
}

async fn serve_until_end(
    listener: TcpListener,
    answers: axum::Router,
    states: watch::Receiver<Arc<Published>>,
    linger: Duration,
) {
    tokio::select! {
        () = accept_all(listener, answers) => {}
        () = wait_for_end(states, linger) => {}
    }
}

async fn push_if_asked(push: Option<Push>, states: watch::Receiver<Arc<Published>>, dropped: Dropped) {
    if let Some(push) = push {
        push_states(push, states, dropped).await;
    }
}

/// Ends `linger` after the end of what is followed.
async fn wait_for_end(mut states: watch::Receiver<Arc<Published>>, linger: Duration) {
    // An error says that nobody publishes any more.
    let _ = states.wait_for(|state| state.over).await;
    tokio::time::sleep(linger).await;
}

async fn accept_all(listener: TcpListener, answers: axum::Router) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(NOT_ACCEPTING).await;
            continue;
        };
        if let Ok(permit) = Arc::clone(&room).try_acquire_owned() {
            tokio::spawn(answer_connection(stream, answers.clone(), permit));
        }
    }
}

/// Answers what comes on one connection. How it ends is the business of its other end.
async fn answer_connection(stream: TcpStream, answers: axum::Router, permit: OwnedSemaphorePermit) {
    let _ = stream.set_nodelay(true);
    // The kernel ends a connection whose other end takes nothing, however often it says that it is still there.
    let _ = set_tcp_user_timeout(&stream, TAKING_TIME.as_millis() as u32);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_TIME)
        .max_buf_size(LONGEST_HEAD)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(answers));
    let _ = connection.await;
    drop(permit);
}
