//! Comparing what both sides say.

use interop::{Family, Program, Row, RowId, Transcript, Transport};

use crate::limitation::overcount;
use crate::mode::{Direction, Mode};

/// One test with both sides' figures.
pub(crate) struct Case<'a> {
    pub(crate) client: Program,
    pub(crate) server: Program,
    pub(crate) mode: &'a Mode,
    pub(crate) at_client: &'a Transcript,
    pub(crate) at_server: &'a Transcript,
    /// Payload of a UDP datagram.
    pub(crate) datagram: u64,
}

/// Payload of a datagram with these client options.
pub(crate) fn datagram_size(options: &str, family: Family) -> u64 {
    let mut words = options
        .split_whitespace()
        .skip_while(|word| *word != "-l")
        .skip(1);
    let default = match family {
        Family::V4 => 1470,
        Family::V6 => 1450,
    };
    words
        .next()
        .and_then(|size| size.parse().ok())
        .unwrap_or(default)
}

/// Whether a program sums both directions of a full-duplex test in one row.
pub(crate) fn shows_one_row(program: Program, mode: &Mode) -> bool {
    program == Program::Iperf2014a && mode.direction == Direction::FullDuplex
}

/// Whether parallel UDP flows meet the race in the peers' servers: these count the first datagrams
/// of a flow for its neighbour, or have no socket for a flow and refuse it to its end. The
/// reference's own client loses flows in this way, too, in most runs on two cores.
pub(crate) fn races(server: Program, transport: Transport, mode: &Mode) -> bool {
    transport == Transport::Udp && mode.flows > 1 && !server.is_tapeline()
}

/// Whether a server has shown the totals of `rows` flows.
pub(crate) fn complete(transcript: &Transcript, rows: usize, mode: &Mode) -> bool {
    let totals = transcript.totals();
    // With intervals, the total is the row that begins at 0 and is not the first.
    let ended = |row: &&Row| {
        !mode.enhanced_server || (row.interval.0 == 0.0 && transcript.intervals(row).len() >= 2)
    };
    totals.iter().filter(ended).count() >= rows
}

impl Case<'_> {
    /// Checks everything; the error says what disagrees.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.check_client_rows()?;
        let transport = if self.is_udp() {
            Transport::Udp
        } else {
            Transport::Tcp
        };
        if races(self.server, transport, self.mode) {
            return Ok(());
        }
        self.check_totals(&self.at_server.totals(), self.server, "server")?;
        if self.is_udp() {
            self.check_datagrams()
        } else {
            self.check_bytes()
        }
    }

    fn is_udp(&self) -> bool {
        let rows = self.at_client.rows.iter().chain(&self.at_server.rows);
        rows.map(|row| row.datagrams)
            .any(|datagrams| datagrams.is_some())
            || !self.at_client.sent.is_empty()
    }

    fn expected_rows(&self, program: Program) -> usize {
        let each = if shows_one_row(program, self.mode) {
            1
        } else {
            self.mode.rows_of_a_flow()
        };
        self.mode.flows * each
    }

    fn check_totals(&self, totals: &[Row], program: Program, side: &str) -> Result<(), String> {
        let expected = self.expected_rows(program);
        if totals.len() != expected {
            return Err(format!(
                "the {side} shows {} totals, not {expected}",
                totals.len()
            ));
        }
        match totals.iter().find(|row| row.bytes == 0) {
            Some(row) => Err(format!("the {side} shows an empty total: {row}")),
            None => Ok(()),
        }
    }

    fn check_client_rows(&self) -> Result<(), String> {
        self.check_totals(&self.at_client.totals(), self.client, "client")?;
        for total in self.at_client.totals() {
            let rows = self.at_client.intervals(&total);
            if rows.len() < self.mode.intervals {
                return Err(format!(
                    "{} interval rows, not {}",
                    rows.len(),
                    self.mode.intervals
                ));
            }
            let sum: u64 = rows.iter().map(|row| row.bytes).sum();
            if sum > total.bytes {
                return Err(format!(
                    "the intervals hold {sum} bytes, the total {}",
                    total.bytes
                ));
            }
        }
        if self.mode.flows > 1 {
            let sum = self.at_client.sum().ok_or("the client shows no sum")?.bytes;
            let flows: u64 = self.at_client.totals().iter().map(|row| row.bytes).sum();
            // A peer's sum may leave out a flow that had ended before another began.
            let wrong = if self.client.is_tapeline() {
                sum != flows
            } else {
                sum > flows
            };
            if wrong {
                return Err(format!("the client sums {flows} bytes to {sum}"));
            }
        }
        self.check_direction()
    }

    /// Rows of data against the connection's direction carry a star, except in 2.0.14a.
    fn check_direction(&self) -> Result<(), String> {
        if self.client == Program::Iperf2014a {
            return Ok(());
        }
        let starred = |row: &Row| matches!(row.id, RowId::Flow { reverse: true, .. });
        let stars = self
            .at_client
            .totals()
            .iter()
            .filter(|row| starred(row))
            .count();
        let expected = match self.mode.direction {
            Direction::Forward | Direction::ConnectBack => 0,
            Direction::Reverse | Direction::FullDuplex => self.mode.flows,
        };
        if stars == expected {
            return Ok(());
        }
        Err(format!(
            "the client marks {stars} rows as reverse, not {expected}"
        ))
    }

    /// TCP: what one side sent, the other received, to the byte.
    fn check_bytes(&self) -> Result<(), String> {
        let one_row = [self.client, self.server].map(|program| shows_one_row(program, self.mode));
        let [client, server] = [self.at_client, self.at_server].map(|side| {
            let mut bytes: Vec<u64> = side.totals().iter().map(|row| row.bytes).collect();
            if one_row.contains(&true) {
                bytes = vec![bytes.iter().sum()];
            }
            bytes.sort_unstable();
            bytes
        });
        let excess = overcount(self.client, self.mode);
        if client == server || client[0] == server[0] + excess {
            return Ok(());
        }
        Err(format!(
            "the client counts {client:?} bytes, the server {server:?}"
        ))
    }

    /// UDP: what one side sent, the other received or missed.
    fn check_datagrams(&self) -> Result<(), String> {
        if shows_one_row(self.server, self.mode) {
            return self.check_received_alone();
        }
        let (client, server) = (self.at_client.totals(), self.at_server.totals());
        let both = || client.iter().chain(&server);
        let senders: Vec<&Row> = both().filter(|row| row.datagrams.is_none()).collect();
        let mut receivers: Vec<&Row> = both().filter(|row| row.datagrams.is_some()).collect();
        if senders.len() != receivers.len() {
            return Err(format!(
                "{} senders, {} receivers",
                senders.len(),
                receivers.len()
            ));
        }
        for sender in senders {
            let sent = sender.bytes.div_ceil(self.datagram);
            let matching = receivers
                .iter()
                .position(|row| row.datagrams.is_some_and(|d| d.total == sent));
            let index = matching.ok_or(format!("nobody accounts for {sent} datagrams"))?;
            self.check_receiver(receivers.swap_remove(index), sender)?;
        }
        self.check_sent_lines()?;
        self.check_server_reports()
    }

    /// The other side shows no losses: the client's own receiver must have arrived data.
    fn check_received_alone(&self) -> Result<(), String> {
        let received = self
            .at_client
            .totals()
            .iter()
            .filter_map(|row| row.datagrams)
            .map(|d| d.total)
            .sum::<u64>();
        let sent = self
            .at_server
            .totals()
            .iter()
            .map(|row| row.bytes / self.datagram)
            .sum::<u64>();
        if received > 0 && received < sent {
            return Ok(());
        }
        Err(format!(
            "the client received {received} of {sent} datagrams of both directions"
        ))
    }

    /// `Sent N datagrams` may count the end marker.
    fn check_sent_lines(&self) -> Result<(), String> {
        let senders: Vec<Row> = self
            .at_client
            .totals()
            .into_iter()
            .filter(|row| row.datagrams.is_none())
            .collect();
        for row in senders {
            let RowId::Flow { id, .. } = row.id else {
                continue;
            };
            let sent = row.bytes.div_ceil(self.datagram);
            let line = self
                .at_client
                .sent
                .iter()
                .find(|(of, _)| matches!(of, RowId::Flow { id: other, .. } if *other == id));
            match line {
                Some((_, count)) if (sent..=sent + 2).contains(count) => {}
                Some((_, count)) => {
                    return Err(format!("{sent} datagrams in the row, {count} in the line"));
                }
                None => return Err(format!("no line of sent datagrams for flow {id}")),
            }
        }
        Ok(())
    }

    /// The client shows the server's own figures.
    fn check_server_reports(&self) -> Result<(), String> {
        let expected = match self.mode.direction {
            Direction::Forward => self.mode.flows,
            Direction::ConnectBack => 1,
            Direction::Reverse | Direction::FullDuplex => 0,
        };
        let reports = &self.at_client.server_reports;
        if reports.len() != expected {
            return Err(format!("{} server reports, not {expected}", reports.len()));
        }
        for report in reports {
            let totals = self.at_server.totals();
            let same = |row: &&Row| row.datagrams == report.datagrams && row.bytes == report.bytes;
            if !totals.iter().any(|row| same(&row)) {
                return Err(format!(
                    "the report ({report}) is not what the server shows"
                ));
            }
        }
        Ok(())
    }

    /// Received datagrams and lost ones make the sent ones.
    fn check_receiver(&self, receiver: &Row, sender: &Row) -> Result<(), String> {
        let counts = receiver.datagrams.ok_or("no counts")?;
        let arrived = counts.total.saturating_sub(counts.lost);
        // 2.0.14a sends a first datagram of another size.
        let exact = sender.bytes.is_multiple_of(self.datagram);
        let wrong = if exact {
            receiver.bytes != arrived * self.datagram
        } else {
            receiver.bytes.div_ceil(self.datagram) != arrived
        };
        if wrong {
            return Err(format!(
                "{} bytes are not {arrived} datagrams",
                receiver.bytes
            ));
        }
        Ok(())
    }
}
