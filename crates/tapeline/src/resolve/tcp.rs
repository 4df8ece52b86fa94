//! Details of sockets: acknowledgements, delays, pacing by the kernel, real-time threads.

use std::time::Duration;

use tapeline_base::{BitRate, parse_bit_or_byte_rate, parse_seconds};
use tapeline_dialect::FairQueuePlan;

use crate::options::OptionId as Id;
use crate::raw::Given;
use crate::values::atoi;

use super::log::{Log, Stop};
use super::reading::{bad_value, duration, refuse_value, small_amount, unrecognized_as};
use super::settings::{Mode, Settings};

/// Time between two steps of the pacing rate.
const DEFAULT_STEP_INTERVAL: Duration = Duration::from_secs(1);
/// Shortest delay that the kernel can be asked for.
const SHORTEST_DELAY: f64 = 0.001;
/// Longest delay, milliseconds: the kernel takes 31 bits of microseconds.
const LONGEST_DELAY: f64 = 2_147_483.0;

/// What was asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TcpSettings {
    pub(crate) quickack: bool,
    pub(crate) skip_receive_copy: bool,
    pub(crate) zero_copy: bool,
    pub(crate) window_clamp: Option<u32>,
    pub(crate) transmit_delay: Option<Duration>,
    /// 0 is none, even where there would be one.
    pub(crate) write_prefetch: Option<u32>,
    pub(crate) local_only: bool,
    pub(crate) realtime: bool,
    pub(crate) rate: Option<BitRate>,
    step: Option<BitRate>,
    step_interval: Option<Duration>,
}

/// Carries out one option of this kind.
pub(super) fn apply(settings: &mut Settings, given: &Given, log: &mut Log) -> Result<(), Stop> {
    match given.spec.id {
        Id::QuickAck => settings.tcp.quickack = true,
        Id::SkipRxCopy => {
            settings.tcp.skip_receive_copy = true;
            settings.presentation.enhanced = true;
        }
        Id::ZeroCopy => settings.tcp.zero_copy = true,
        Id::RxWindowClamp => {
            let clamp = small_amount(settings, given, log)?;
            settings.tcp.window_clamp = Some(clamp).filter(|clamp| *clamp > 0);
        }
        Id::TxDelay => {
            settings.tcp.transmit_delay = transmit_delay(settings, given, log)?;
            settings.presentation.enhanced = true;
        }
        Id::WritePrefetch => {
            settings.tcp.write_prefetch = Some(small_amount(settings, given, log)?);
            settings.presentation.enhanced = true;
        }
        Id::LocalOnly => settings.tcp.local_only = local_only(settings, given, log)?,
        Id::FqRate => settings.tcp.rate = rate(settings, given, log)?,
        Id::FqRateStep => {
            settings.tcp.step = rate(settings, given, log)?;
            settings.presentation.enhanced = true;
        }
        Id::FqRateStepInterval => {
            settings.tcp.step_interval = step_interval(settings, given, log)?;
            settings.presentation.enhanced = true;
        }
        _ => settings.tcp.realtime = true,
    }
    Ok(())
}

/// Milliseconds; iperf ignores what the kernel could not be asked for.
fn transmit_delay(
    settings: &Settings,
    given: &Given,
    log: &mut Log,
) -> Result<Option<Duration>, Stop> {
    let text = given.text();
    match parse_seconds(&text) {
        Ok(delay) if (SHORTEST_DELAY..=LONGEST_DELAY).contains(&delay) => {
            Ok(Some(Duration::from_micros((delay * 1e3).round() as u64)))
        }
        Ok(delay) if delay == 0.0 || (settings.iperf() && delay < SHORTEST_DELAY) => Ok(None),
        Ok(_) => Err(refuse_value(
            given,
            "is not between 0.001 and 2147483 milliseconds",
            log,
        )),
        Err(_) => Err(log.fatal(
            format!("ERROR: Invalid value of '{text}' for --tcp-tx-delay"),
            bad_value(given, "is no number of milliseconds"),
        )),
    }
}

/// Without a value, or with anything but 0: on.
fn local_only(settings: &Settings, given: &Given, log: &mut Log) -> Result<bool, Stop> {
    match (given.value.is_some(), given.text().as_str()) {
        (false, _) | (true, "1") => Ok(true),
        (true, "0") => Ok(false),
        (true, text) if settings.iperf() => Ok(atoi(text) != 0),
        _ => Err(refuse_value(given, "is neither 0 nor 1", log)),
    }
}

/// A pacing rate; 0 is none, and so is what iperf cannot read.
fn rate(settings: &Settings, given: &Given, log: &mut Log) -> Result<Option<BitRate>, Stop> {
    let text = given.text();
    let bits = match parse_bit_or_byte_rate(&text) {
        Ok(rate) if settings.iperf() || rate.rest.is_empty() => rate.value,
        Err(_) if settings.iperf() => 0.0,
        _ => {
            return Err(refuse_value(
                given,
                "is no rate (k m g bits, K M G bytes)",
                log,
            ));
        }
    };
    if bits < 0.0 {
        return Err(refuse_value(given, "is negative", log));
    }
    Ok(Some(BitRate(bits as u64)).filter(|rate| rate.0 > 0))
}

fn step_interval(
    settings: &Settings,
    given: &Given,
    log: &mut Log,
) -> Result<Option<Duration>, Stop> {
    match parse_seconds(&given.text()).map(|seconds| (seconds > 0.0, duration(seconds))) {
        Ok((true, Some(interval))) => Ok(Some(interval)),
        Ok((false, _)) if settings.iperf() => Ok(settings.tcp.step_interval),
        Ok(_) => Err(refuse_value(given, "is not above 0", log)),
        Err(_) => Err(unrecognized_as(given, "is no number of seconds", log)),
    }
}

/// Clients leave the receive window alone.
pub(super) fn window_clamp_is_for_servers(settings: &mut Settings, log: &mut Log) {
    if settings.tcp.window_clamp.is_some() {
        log.warn(
            "WARN: option of --tcp-rx-window-clamp not supported on the client",
            "--tcp-rx-window-clamp is for servers",
        );
    }
}

/// TCP's details say nothing about datagrams.
pub(super) fn tcp_details_need_tcp(settings: &mut Settings, log: &mut Log) {
    if !settings.udp {
        return;
    }
    let asked = settings.tcp;
    for (given, name) in [
        (asked.write_prefetch.is_some(), "--tcp-write-prefetch"),
        (asked.quickack, "--tcp-quickack"),
        (asked.transmit_delay.is_some(), "--tcp-tx-delay"),
        (asked.zero_copy, "--zero-copy"),
    ] {
        if given {
            tcp_only(name, log);
        }
    }
    settings.tcp.write_prefetch = None;
    settings.tcp.quickack = false;
    settings.tcp.transmit_delay = None;
    settings.tcp.zero_copy = false;
}

/// Under iperf a warning; tapeline stops.
fn tcp_only(name: &str, log: &mut Log) {
    if log.personality() == tapeline_dialect::Personality::Iperf2 {
        let text = format!("WARN: setting of option {name} is not supported with -u UDP");
        log.warn(text, "");
    } else {
        log.error("", format!("option {name} needs TCP (leave out -u)"));
    }
}

/// The same for a server's details.
pub(super) fn server_details_need_tcp(settings: &mut Settings, log: &mut Log) {
    if !settings.udp || settings.mode != Mode::Server {
        return;
    }
    if settings.tcp.window_clamp.take().is_some() {
        log.warn(
            "WARN: option of --tcp-rx-window-clamp not supported using -u UDP ",
            "--tcp-rx-window-clamp has no meaning with -u",
        );
    }
    if std::mem::take(&mut settings.tcp.skip_receive_copy) {
        log.warn(
            "WARN: Option of --skip-rx-copy not supported with -u UDP",
            "--skip-rx-copy has no meaning with -u",
        );
    }
}

impl Settings {
    /// Pacing by the kernel.
    pub(super) fn fair_queue(&self) -> Option<FairQueuePlan> {
        let asked = &self.tcp;
        Some(FairQueuePlan {
            rate: asked.rate.or(asked.step)?,
            step: asked
                .step
                .map(|step| (step, asked.step_interval.unwrap_or(DEFAULT_STEP_INTERVAL))),
        })
    }
}
