//! Connections: how many, and what each may do.

use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::ConnectInfo;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot};

use crate::ends::Ends;
use crate::routes;
use crate::site::Site;
use crate::trash::UNDO;

/// Connections at a time; further ones are closed.
const MAX_CONNECTIONS: usize = 64;
/// Time for the head of a request, also of the next one.
const HEAD_TIME: Duration = Duration::from_secs(5);
/// Bytes of a head.
const MAX_HEAD: usize = 8192;
/// Headers of a request.
const MAX_HEADERS: usize = 64;
/// Pause where the system has no room for another connection.
const PAUSE: Duration = Duration::from_millis(50);

/// Serves the page until `end` says so or its sender has gone; then everything that it started ends.
///
/// # Errors
/// The system has no room for what it needs.
pub fn serve(site: &Arc<Site>, listener: TcpListener, end: Receiver<()>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()?;
    let (ended, ends) = oneshot::channel();
    std::thread::Builder::new()
        .name("end".into())
        .spawn(move || {
            // Whether it was said or the sender has gone: it is over.
            let _ = end.recv();
            let _ = ended.send(());
        })?;
    runtime.block_on(async {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let accepting = tokio::spawn(accept(Arc::clone(site), listener));
        let removing = tokio::spawn(empty_trash(Arc::clone(site)));
        // It is over either way.
        let _ = ends.await;
        accepting.abort();
        removing.abort();
        io::Result::Ok(())
    })?;
    site.close();
    // Requests that still wait for a file do not hold the end up.
    runtime.shutdown_background();
    Ok(())
}

async fn accept(site: Arc<Site>, listener: tokio::net::TcpListener) {
    let router = routes::router(site);
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok((stream, remote)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        // Whoever finds no room sees its connection close.
        if let Ok(place) = Arc::clone(&room).try_acquire_owned()
            && let Ok(local) = stream.local_addr()
        {
            let (router, ends) = (router.clone(), Ends { local, remote });
            tokio::spawn(async move {
                answer(router, stream, ends).await;
                drop(place);
            });
        }
    }
}

async fn answer(router: Router, stream: TcpStream, ends: Ends) {
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(axum::body::Body::new);
        request.extensions_mut().insert(ConnectInfo(ends));
        let mut router = router.clone();
        async move {
            let answer = tower_service::Service::call(&mut router, request).await;
            Ok::<_, Infallible>(answer.unwrap_or_else(|never| match never {}))
        }
    });
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(MAX_HEAD)
        .max_headers(MAX_HEADERS);
    // How a connection ends is of no interest.
    let _ = http.serve_connection(TokioIo::new(stream), service).await;
}

/// Removes runs whose time to be taken back is over.
async fn empty_trash(site: Arc<Site>) {
    let mut clock = tokio::time::interval(UNDO / 20);
    loop {
        clock.tick().await;
        let runs = site.trash.take(Some(Instant::now()));
        if !runs.is_empty() {
            let site = Arc::clone(&site);
            let removed = tokio::task::spawn_blocking(move || {
                if let Err(why) = site.program.remove(&runs) {
                    site.program.log(&format!("not removed: {why:?}"));
                }
                site.trash.gone(&runs);
                site.tests
                    .events
                    .push(&serde_json::json!({ "history": true }));
            });
            // A panic there is written by the thread.
            let _ = removed.await;
        }
    }
}
