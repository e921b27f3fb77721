//! Work that goes on after the answer: rmcp's task manager behind our port.

use crate::{
    error::ToolError,
    registry::context::{Task, TaskEnd, Work},
};
use futures::future::BoxFuture;
use rmcp::{
    ErrorData,
    model::{CreateTaskResult, ErrorCode},
    task_manager::{TaskContext, TaskExit, TaskManager, TaskOptions},
};
use serde_json::Value;
use std::sync::Arc;

/// Begins the work and returns the result that names its task.
///
/// # Errors
/// `internal` if rmcp's own result could not be written down.
pub fn start(tasks: &TaskManager, work: Work) -> Result<Value, ToolError> {
    let task = tasks.spawn(TaskOptions::default(), move |context| {
        let running = work(Arc::new(RmcpTask(context)));
        Box::pin(async move {
            let result = running.await.map_err(exit)?;
            serde_json::from_value(result)
                .map_err(|error| internal(format!("the task's result is no MCP result: {error}")))
        })
    });
    serde_json::to_value(CreateTaskResult::new(task))
        .map_err(|error| ToolError::internal(format!("the task cannot be named: {error}")))
}

struct RmcpTask(TaskContext);

impl Task for RmcpTask {
    fn ask(&self, key: &str, request: Value) -> BoxFuture<'_, Result<Value, TaskEnd>> {
        let key = key.to_owned();
        Box::pin(async move {
            let request = serde_json::from_value(request).map_err(|error| {
                TaskEnd::Failed(ToolError::internal(format!("{key} cannot be asked like this: {error}")))
            })?;
            self.0.request_input(key, request).await.map_err(|exit| match exit {
                TaskExit::Cancelled => TaskEnd::Cancelled,
                TaskExit::Error(error) => TaskEnd::Failed(ToolError::internal(error.message.into_owned())),
            })
        })
    }

    fn cancelled(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.0.cancelled())
    }
}

fn exit(end: TaskEnd) -> TaskExit {
    match end {
        TaskEnd::Cancelled => TaskExit::Cancelled,
        TaskEnd::Failed(error) => match error.protocol {
            Some(protocol) => {
                TaskExit::Error(ErrorData::new(ErrorCode(protocol.code), error.message, Some(protocol.data)))
            }
            None => TaskExit::Error(ErrorData::internal_error(error.message.clone(), Some(error.data()))),
        },
    }
}

fn internal(why: String) -> TaskExit {
    TaskExit::Error(ErrorData::internal_error(why, None))
}
