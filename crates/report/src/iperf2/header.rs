//! Column headers of iperf 2.2.1.

use std::borrow::Cow;

use crate::style::Build;

/// A kind of rows, named by the header that stands above the first of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Header {
    /// Any row without further columns.
    Plain,
    /// UDP receiver.
    UdpReceive,
    /// TCP receiver, enhanced.
    TcpReceiveEnhanced,
    /// TCP sender, enhanced.
    TcpSendEnhanced,
    /// Request/response client.
    RequestResponse,
    /// UDP sender, enhanced.
    UdpSendEnhanced,
    /// UDP receiver, enhanced.
    UdpReceiveEnhanced,
    /// UDP receiver with delays from stamps, and a server's enhanced report.
    UdpReceiveTripTimes,
    /// Both directions of a UDP flow, enhanced.
    UdpDuplex,
    /// Sum without further columns that names its member count.
    SumPlain,
    /// Sum of TCP senders, enhanced.
    SumTcpSend,
    /// Sum of TCP receivers, enhanced.
    SumTcpReceive,
    /// Sum of UDP senders, enhanced.
    SumUdpSend,
    /// Sum of UDP receivers, enhanced.
    SumUdpReceive,
    /// Sum of UDP receivers with delays from stamps.
    SumUdpTripTimes,
    /// TCP receiver with delays from stamps.
    TcpReceiveTripTimes,
    /// TCP receiver of isochronous traffic with delays from stamps.
    TcpReceiveFrames,
    /// TCP sender with `--fq-rate`, enhanced.
    TcpSendPaced,
    /// TCP sender with `--tcp-write-times`.
    TcpSendTimed,
    /// TCP sender of isochronous traffic.
    TcpSendFrames,
    /// UDP sender of isochronous traffic.
    UdpSendFrames,
    /// UDP receiver of isochronous traffic with delays from stamps.
    UdpReceiveFrames,
    /// TCP receiver of bursts.
    Burst,
    /// Sum of TCP receivers with delays from stamps.
    SumTcpTripTimes,
}

impl Header {
    /// Every kind, in the order of the declaration.
    pub const ALL: [Self; 24] = [
        Self::Plain,
        Self::UdpReceive,
        Self::TcpReceiveEnhanced,
        Self::TcpSendEnhanced,
        Self::RequestResponse,
        Self::UdpSendEnhanced,
        Self::UdpReceiveEnhanced,
        Self::UdpReceiveTripTimes,
        Self::UdpDuplex,
        Self::SumPlain,
        Self::SumTcpSend,
        Self::SumTcpReceive,
        Self::SumUdpSend,
        Self::SumUdpReceive,
        Self::SumUdpTripTimes,
        Self::TcpReceiveTripTimes,
        Self::TcpReceiveFrames,
        Self::TcpSendPaced,
        Self::TcpSendTimed,
        Self::TcpSendFrames,
        Self::UdpSendFrames,
        Self::UdpReceiveFrames,
        Self::Burst,
        Self::SumTcpTripTimes,
    ];

    /// The line as a build prints it: where the plain one leaves eight blanks for an interval, the
    /// other one leaves twelve.
    #[must_use]
    pub fn text(self, build: Build) -> Cow<'static, str> {
        let plain = self.plain();
        match build {
            Build::Plain => Cow::Borrowed(plain),
            Build::FastSampling => {
                let wide = plain.replacen("] Interval        ", "] Interval            ", 1);
                Cow::Owned(wide)
            }
        }
    }

    const fn plain(self) -> &'static str {
        match self {
            Self::Plain => "[ ID] Interval       Transfer     Bandwidth",
            Self::UdpReceive => {
                "[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams"
            }
            Self::TcpReceiveEnhanced => {
                "[ ID] Interval        Transfer    Bandwidth       Reads=Dist"
            }
            Self::TcpSendEnhanced => {
                "[ ID] Interval        Transfer    Bandwidth       Write/Err  Rtry     \
                 InF(pkts)/Cwnd(pkts)/RTT(var)        NetPwr"
            }
            Self::RequestResponse => {
                "[ ID] Interval        Transfer    Bandwidth         \
                 BB cnt=avg/min/max/stdev         Rtry  Cwnd(pkts)/RTT(var)   \
                 Tx/Rx bytes  RPS(avg)"
            }
            Self::UdpSendEnhanced => {
                "[ ID] Interval        Transfer     Bandwidth      Write/Err/Timeo  PPS"
            }
            Self::UdpReceiveEnhanced => {
                "[ ID] Interval        Transfer     Bandwidth        Jitter   Lost/Total  \
                 Latency avg/min/max/stdev PPS Read/Timeo/NA NetPwr"
            }
            Self::UdpReceiveTripTimes => {
                "[ ID] Interval        Transfer     Bandwidth        Jitter   Lost/Total  \
                 Latency avg/min/max/stdev PPS  Rx/inP  Read/Timeo/Trunc  NetPwr"
            }
            Self::UdpDuplex => "[ ID] Interval       Transfer     Bandwidth    Datagrams   PPS",
            Self::SumPlain => "[SUM-cnt] Interval       Transfer     Bandwidth",
            Self::SumTcpSend => {
                "[SUM-cnt] Interval        Transfer    Bandwidth       Write/Err  Rtry"
            }
            Self::SumTcpReceive => {
                "[SUM-cnt] Interval        Transfer    Bandwidth       Reads=Dist"
            }
            Self::SumUdpSend => {
                "[SUM-cnt] Interval        Transfer     Bandwidth      Write/Err  PPS"
            }
            Self::SumUdpReceive => {
                "[SUM-cnt] Interval     Transfer     Bandwidth       Lost/Total  \
                 Latency avg/min/max  PPS"
            }
            Self::SumUdpTripTimes => {
                "[SUM-cnt] Interval        Transfer     Bandwidth      Lost/Total  \
                 Latency avg/min/max  Rx/inP PPS"
            }
            Self::TcpReceiveTripTimes => {
                "[ ID] Interval        Transfer    Bandwidth    \
                 Burst Latency avg/min/max/stdev (cnt/size) inP NetPwr  Reads=Dist"
            }
            Self::TcpReceiveFrames => {
                "[ ID] Interval        Transfer    Bandwidth    \
                 Burst Latency avg/min/max/stdev (cnt/size) NetPwr  Reads=Dist"
            }
            Self::TcpSendPaced => {
                "[ ID] Interval        Transfer    Bandwidth       Write/Err  Rtry     \
                 InF(pkts)/Cwnd(pkts)/RTT(var)  fq-rate  NetPwr"
            }
            Self::TcpSendTimed => {
                "[ ID] Interval        Transfer    Bandwidth       Write/Err  Rtry    \
                 InF(pkts)/Cwnd(pkts)/RTT(var)   NetPwr  write-times avg/min/max/stdev (cnt)"
            }
            Self::TcpSendFrames => {
                "[ ID] Interval        Transfer     Bandwidth      Write/Err  Rtry     \
                 Cwnd(pkts)/RTT(var)     isoch:tx/miss/slip  NetPwr"
            }
            Self::UdpSendFrames => {
                "[ ID] Interval        Transfer     Bandwidth      Write/Err  PPS  \
                 isoch:tx/miss/slip"
            }
            Self::UdpReceiveFrames => {
                "[ ID] Interval        Transfer     Bandwidth        Jitter   Lost/Total \
                 Latency avg/min/max/stdev  PPS  Frame:rx/lost  \
                 Frame-latency avg/min/max/stdev  NetPwr"
            }
            Self::Burst => {
                "[ ID] Burst (start-end)  Transfer     Bandwidth       XferTime  (DC%)     \
                 Reads=Dist          NetPwr"
            }
            Self::SumTcpTripTimes => {
                "[SUM-cnt] Interval        Transfer    Bandwidth  InP  Reads=Dist"
            }
        }
    }
}
