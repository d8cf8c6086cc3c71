//! What a plugin can call: each function counts against the allowance and goes to
//! its gate, which checks the grant. What it logs or reports goes through its mask.

use wasmtime::component::Resource;

use super::bindings::host::bathysphere::plugin::{documents, http, log, process, types};
use super::state::State;
use crate::gates;
use crate::plugins::contract::{Masked as _, Progress};

/// A running program, as the plugin holds it.
pub struct RunningChild(gates::process::Child);

impl types::Host for State {}

impl log::Host for State {
    async fn write(&mut self, level: log::Level, message: String) -> wasmtime::Result<()> {
        self.allowance.host_call()?;
        let plugin = &*self.plugin;
        let message = self.gates.mask.text(&message);
        match level {
            log::Level::Trace => tracing::trace!("{plugin}: {message}"),
            log::Level::Debug => tracing::debug!("{plugin}: {message}"),
            log::Level::Info => tracing::info!("{plugin}: {message}"),
            log::Level::Warn => tracing::warn!("{plugin}: {message}"),
            log::Level::Error => tracing::error!("{plugin}: {message}"),
        }
        Ok(())
    }

    async fn progress(
        &mut self,
        message: String,
        done: u64,
        total: Option<u64>,
    ) -> wasmtime::Result<()> {
        self.allowance.host_call()?;
        (self.progress)(Progress { message, done, total }.masked(&self.gates.mask));
        Ok(())
    }
}

impl http::Host for State {
    async fn send(
        &mut self,
        request: http::Request,
    ) -> wasmtime::Result<Result<http::Response, types::Error>> {
        self.allowance.host_call()?;
        let gates = self.gates.clone();
        Ok(gates.http.send(request.into()).await.map(Into::into).map_err(Into::into))
    }
}

impl process::Host for State {}

impl process::HostChild for State {
    async fn spawn(
        &mut self,
        command: process::Command,
    ) -> wasmtime::Result<Result<Resource<RunningChild>, types::Error>> {
        self.allowance.host_call()?;
        match self.gates.process.spawn(command.into()) {
            Ok(child) => Ok(Ok(self.table.push(RunningChild(child))?)),
            Err(error) => Ok(Err(error.into())),
        }
    }

    async fn next(
        &mut self,
        child: Resource<RunningChild>,
    ) -> wasmtime::Result<Result<Option<process::Event>, types::Error>> {
        self.allowance.host_call()?;
        let child = self.table.get_mut(&child)?;
        Ok(child.0.next().await.map(|event| event.map(Into::into)).map_err(Into::into))
    }

    async fn read_file(
        &mut self,
        child: Resource<RunningChild>,
        path: String,
        max_bytes: u64,
    ) -> wasmtime::Result<Result<Vec<u8>, types::Error>> {
        self.allowance.host_call()?;
        let child = self.table.get_mut(&child)?;
        Ok(child.0.read_file(&path, max_bytes).map_err(Into::into))
    }

    async fn list_files(&mut self, child: Resource<RunningChild>) -> wasmtime::Result<Vec<String>> {
        self.allowance.host_call()?;
        Ok(self.table.get(&child)?.0.list_files())
    }

    async fn drop(&mut self, child: Resource<RunningChild>) -> wasmtime::Result<()> {
        self.table.delete(child)?;
        Ok(())
    }
}

impl documents::Host for State {
    async fn roots(&mut self) -> wasmtime::Result<Vec<documents::Root>> {
        self.allowance.host_call()?;
        let roots = self.documents.roots();
        Ok(roots
            .into_iter()
            .map(|root| documents::Root { id: root.id, prefix: root.prefix })
            .collect())
    }

    async fn list_directory(
        &mut self,
        root: u32,
        path: String,
    ) -> wasmtime::Result<Result<Vec<documents::Entry>, types::Error>> {
        self.allowance.host_call()?;
        let entries = self.documents.list_directory(root, path).await;
        Ok(entries.map(|entries| entries.into_iter().map(Into::into).collect()).map_err(Into::into))
    }

    async fn read(
        &mut self,
        root: u32,
        path: String,
        max_bytes: u64,
    ) -> wasmtime::Result<Result<Vec<u8>, types::Error>> {
        self.allowance.host_call()?;
        Ok(self.documents.read(root, path, max_bytes).await.map_err(Into::into))
    }

    async fn put(
        &mut self,
        documents: Vec<documents::Document>,
    ) -> wasmtime::Result<Result<(), types::Error>> {
        self.allowance.host_call()?;
        let documents = documents.into_iter().map(Into::into).collect();
        Ok(self.documents.put(documents).await.map_err(Into::into))
    }

    async fn retain(
        &mut self,
        root: u32,
        paths: Vec<String>,
    ) -> wasmtime::Result<Result<u32, types::Error>> {
        self.allowance.host_call()?;
        Ok(self.documents.retain(root, paths).await.map_err(Into::into))
    }

    async fn query(
        &mut self,
        text: String,
        limit: u32,
        per_document: u32,
    ) -> wasmtime::Result<Result<Vec<documents::Match>, types::Error>> {
        self.allowance.host_call()?;
        let matches = self.documents.query(text, limit, per_document).await;
        Ok(matches.map(|matches| matches.into_iter().map(Into::into).collect()).map_err(Into::into))
    }
}
