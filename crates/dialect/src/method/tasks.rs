//! What is done of an order, by its task.

use std::num::NonZeroU64;

use tapeline_base::{Tos, whole_nanos};
use tapeline_sys::UdpSocket;
use tapeline_wire::native::Done;

use super::flow::MethodFlow;
use super::job::{Job, failed};
use super::terms::Task;
use super::{capacity, mtu, samples};

/// Does what is ordered.
pub(crate) fn perform(job: &Job) -> Done {
    let began = job.context.now();
    let done = match (job.terms.task, &job.door) {
        (Task::Samples(test), _) => samples::run(job, test),
        (_, None) => failed("no datagrams reach this server"),
        (task, Some((key, sockets))) => match job.open(sockets, began) {
            Ok(socket) => serve(job, task, socket, *key),
            Err(end) => Done {
                end,
                ..Done::default()
            },
        },
    };
    Done {
        elapsed_ns: whole_nanos(job.context.now().since(began)),
        ..done
    }
}

fn serve(job: &Job, task: Task, socket: UdpSocket, key: NonZeroU64) -> Done {
    let mut flow = match MethodFlow::new(socket, key) {
        Ok(flow) => flow,
        Err(error) => return failed(&tapeline_sys::reason(&error)),
    };
    if let Some(tos) = job.parameters.tos {
        // Without it the packets go as others do.
        let _ = flow.set_tos(Tos(tos));
    }
    match task {
        Task::MtuUp => mtu::answer(job, &mut flow),
        Task::CapacityUp => capacity::receive(job, &mut flow),
        Task::CapacityDown => capacity::send(job, &mut flow),
        Task::MtuDown => mtu::search(job, &mut flow),
        Task::Samples(_) => failed("samples have no datagrams"),
    }
}
