//! iperf3's forms: its renderers, complete, and ends without a test.

use tapeline_base::Role;
use tapeline_report::{
    CpuUse, Event, Iperf3Json, Iperf3Style, Iperf3Text, Output, Renderer, TestEnd, TestFailure,
};
use tapeline_sys::system_information;

use super::iperf3_decorator::{END_OF_SERVER, Iperf3Decorator, interruption, latest_signal};
use crate::identity::IPERF3;
use crate::presentation::{Iperf3Form, Presentation, TextStyle};

/// The renderer of a form.
pub(crate) fn iperf3_renderer(
    form: Iperf3Form,
    presentation: &Presentation,
) -> Box<dyn Renderer + Send> {
    let style = iperf3_style(form, presentation);
    let renderer: Box<dyn Renderer + Send> = match form {
        Iperf3Form::Text => Box::new(Iperf3Text::new(style)),
        Iperf3Form::Json => Box::new(Iperf3Json::documents(style)),
        Iperf3Form::Stream { .. } => Box::new(Iperf3Json::stream(style)),
    };
    Box::new(Iperf3Decorator::new(renderer, presentation))
}

/// What iperf3's forms need to know in addition to the events.
pub(crate) fn iperf3_style(form: Iperf3Form, presentation: &Presentation) -> Iperf3Style {
    Iperf3Style {
        version: format!("iperf {}", IPERF3),
        system_info: system_information(),
        format: presentation.format,
        verbose: presentation.verbose,
        title: presentation.title.clone(),
        one_off: presentation.one_off,
        full_output: form == Iperf3Form::Stream { full: true },
    }
}

/// The end of a test that was not begun, in one of iperf3's forms.
pub(crate) fn refusal(form: Iperf3Form, text: &str) -> String {
    let mut renderer = iperf3_renderer(form, &Presentation::new(TextStyle::Iperf3(form)));
    let mut out = Output::default();
    let end = end_of_nothing(TestFailure {
        code: 0,
        text: text.to_owned(),
        by_peer: false,
        interrupted: false,
    });
    renderer.render(&end, &mut out);
    renderer.finish(&mut out);
    out.stdout
}

/// The end of a server that was asked to end while no test ran.
pub(crate) fn end_of_server() -> Option<Event> {
    Some(end_of_nothing(interruption(Role::Server, latest_signal()?)))
}

/// An end without a test.
pub(crate) fn end_of_nothing(failure: TestFailure) -> Event {
    Event::TestEnd(Box::new(TestEnd {
        test: END_OF_SERVER,
        cpu: CpuUse::default(),
        peer_cpu: None,
        sender_congestion: None,
        receiver_congestion: None,
        peer_totals: Vec::new(),
        lost_behind: Vec::new(),
        peer_output: None,
        peer_tapeline: None,
        failure: Some(failure),
    }))
}
