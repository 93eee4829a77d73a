//! Decoding long answers, writing large documents, and what the session adds to a request.
//!
//! `HEATCLIENT_PYTHON=/path/to/venv/bin/python cargo bench -p magnum-heat-benches` compares with python-heatclient.

use std::error::Error;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use magnum_heat::stack::ListStacks;
use magnum_heat::{Auth, CloudConfig, Scope, Session};
use magnum_heat_benches::{Listing, Server, cpu_of, group, peak_of_child, peak_so_far};
use secrecy::SecretString;

const PYTHON: &str = include_str!("../heatclient.py");
/// Requests of each kind, in turns.
const REQUESTS: usize = 4000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["peak", "resources"] => return peak(Listing::Resources),
        ["peak", "events"] => return peak(Listing::Events),
        _ => {}
    }
    println!("| what | magnum-heat | python-heatclient | |\n|---|---|---|---|");
    for listing in [Listing::Resources, Listing::Events] {
        decode(listing)?;
    }
    render()?;
    overhead()
}

/// Prints by how much decoding raises the peak.
fn peak(listing: Listing) -> Result<(), Box<dyn Error>> {
    let body = listing.body();
    let before = peak_so_far();
    let count = listing.decode(&body)?;
    println!("{}", peak_so_far() - before);
    assert_eq!(count, listing.count());
    Ok(())
}

fn megabytes_a_second(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / 1e6 / time.as_secs_f64()
}

fn decode(listing: Listing) -> Result<(), Box<dyn Error>> {
    let body = listing.body();
    let time = cpu_of(|| listing.decode(&body));
    let ours = megabytes_a_second(body.len(), time);
    let kib = peak_of_child(&["peak", listing.key()])?;
    let (count, key, size) = (listing.count(), listing.key(), body.len() as f64 / 1e6);
    let theirs = match std::env::var("HEATCLIENT_PYTHON") {
        Ok(python) => Some(heatclient(&python, listing, &body)?),
        Err(_) => None,
    };
    let their = |pick: fn(&(f64, u64)) -> String| theirs.as_ref().map_or("-".to_owned(), pick);
    println!(
        "| decode {count} {key} ({size:.2} MB), CPU | {ours:.0} MB/s | {} | {} |",
        their(|t| format!("{:.0} MB/s", t.0)),
        theirs.map_or("-".to_owned(), |t| format!(
            "{:.1} times as fast",
            ours / t.0
        )),
    );
    println!(
        "| of it, rise of peak memory | {:.1} MiB | {} | |",
        kib as f64 / 1024.0,
        their(|t| format!("{:.1} MiB", t.1 as f64 / 1024.0)),
    );
    Ok(())
}

/// MB/s of CPU time and KiB of python-heatclient.
fn heatclient(python: &str, listing: Listing, body: &[u8]) -> Result<(f64, u64), Box<dyn Error>> {
    let mut child = Command::new(python)
        .args(["-c", PYTHON, listing.key()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    child.stdin.take().ok_or("no stdin")?.write_all(body)?;
    let output = child.wait_with_output()?;
    let text = String::from_utf8(output.stdout)?;
    let mut words = text.split_whitespace();
    let mut next = || {
        words
            .next()
            .ok_or_else(|| format!("heatclient.py said {text:?}"))
    };
    let (version, count) = (next()?.to_owned(), next()?.parse::<usize>()?);
    let (seconds, kib) = (next()?.parse::<f64>()?, next()?.parse()?);
    assert_eq!(count, listing.count());
    eprintln!("python-heatclient {version}");
    let time = Duration::from_secs_f64(seconds);
    Ok((megabytes_a_second(body.len(), time), kib))
}

fn render() -> Result<(), Box<dyn Error>> {
    let document = group(500)?;
    let text = document.to_text();
    let build = cpu_of(|| group(500));
    let write = cpu_of(|| document.to_text());
    println!(
        "| build a document of 1000 resources ({:.2} MB), CPU | {:.2} ms | | |",
        text.len() as f64 / 1e6,
        build.as_secs_f64() * 1e3,
    );
    println!(
        "| write it as JSON, CPU | {:.2} ms, {:.0} MB/s | | |",
        write.as_secs_f64() * 1e3,
        megabytes_a_second(text.len(), write),
    );
    Ok(())
}

fn overhead() -> Result<(), Box<dyn Error>> {
    let server = Server::start()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let auth = Auth::Token(SecretString::from("t"));
        let identity = format!("{}/identity", server.base());
        let cloud = CloudConfig::new(&identity, auth, Scope::project("p"))?;
        let session = Session::connect(cloud).await?;
        let raw = reqwest::Client::builder().no_proxy().build()?;
        let url = format!("{}/v1/p/stacks", server.base());
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..REQUESTS {
            let begun = Instant::now();
            raw.get(&url).header("X-Auth-Token", "token").send().await?.bytes().await?;
            theirs.push(begun.elapsed());
            let begun = Instant::now();
            session.send(ListStacks::new()).await?;
            ours.push(begun.elapsed());
        }
        ours.sort_unstable();
        theirs.sort_unstable();
        let (ours, theirs) = (ours[REQUESTS / 2], theirs[REQUESTS / 2]);
        println!(
            "| a request and its answer, median of {REQUESTS} | {:.0} µs | (reqwest alone) {:.0} µs | ratio {:.2} |",
            ours.as_secs_f64() * 1e6,
            theirs.as_secs_f64() * 1e6,
            ours.as_secs_f64() / theirs.as_secs_f64(),
        );
        Ok(())
    })
}
