//! The files of a site: keys, settings of the four roles, the server's configuration.

mod access;
mod enrol;
mod folder;
mod init;
mod key;
mod registry;
mod schedule_file;
mod server_conf;
mod settings;
mod toml_file;

pub use access::{Access, Server, ServerError};
pub use enrol::{Change, EnrolError, Enrolment};
pub use folder::FolderError;
pub use init::{InitError, NewSite};
pub use registry::{check_address, check_group};
pub use schedule_file::read_schedule;
pub use settings::{
    AgentSettings, CollectorSettings, ControllerSettings, OperatorSettings, default_settings,
};
pub use toml_file::SettingsError;
