//! Work that continues after the answer: rmcp's task manager behind our interface.

use super::fault::fault;
use crate::registry::context::{Task, TaskEnd, Work};
use base::error::ToolError;
use contract::access::{
    caller::Caller,
    shares::{Pool, PoolPlace, Rule, TASKS},
};
use futures::future::BoxFuture;
use rmcp::{
    ErrorData,
    model::{CreateTaskResult, ErrorCode},
    task_manager::{TaskContext, TaskExit, TaskManager, TaskOptions},
};
use serde_json::Value;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

/// The tasks of one server, each bound to the principal that began it.
pub struct Tasks {
    manager: TaskManager,
    owners: Mutex<HashMap<String, Owner>>,
    places: Arc<Pool>,
}

struct Owner {
    principal: String,
    /// Held until the task's state is dropped.
    _place: PoolPlace,
}

impl Default for Tasks {
    fn default() -> Self {
        let places = Pool::new(Rule::quarter(TASKS));
        Self { manager: TaskManager::default(), owners: Mutex::default(), places }
    }
}

impl Tasks {
    /// Begins the work and returns the result that names its task.
    ///
    /// # Errors
    /// `resource_exhausted` beyond the caller's share; `internal` if rmcp's own result could not be serialised.
    pub fn start(&self, caller: &Arc<Caller>, work: Work) -> Result<Value, ToolError> {
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        owners.retain(|id, _| self.manager.get_task(id).is_ok());
        let place = self.places.take(caller).map_err(|full| full.error("tasks"))?;
        let task = self.manager.spawn(TaskOptions::default(), move |context| {
            let running = work(Arc::new(RmcpTask(context)));
            Box::pin(async move {
                let result = running.await.map_err(exit)?;
                serde_json::from_value(result)
                    .map_err(|error| internal(format!("the task's result is no MCP result: {error}")))
            })
        });
        owners.insert(task.task_id.clone(), Owner { principal: caller.principal.clone(), _place: place });
        serde_json::to_value(CreateTaskResult::new(task))
            .map_err(|error| ToolError::internal(format!("the task cannot be named: {error}")))
    }

    /// The manager of this task, if this principal began it.
    pub fn of(&self, id: &str, principal: &str) -> Option<&TaskManager> {
        let owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        owners.get(id).is_some_and(|owner| owner.principal == principal).then_some(&self.manager)
    }
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
        TaskEnd::Failed(error) => TaskExit::Error(match error.as_protocol() {
            Some((code, data)) => ErrorData::new(ErrorCode(code), error.into_message(), Some(data)),
            None => ErrorData::internal_error(error.message.clone(), Some(error.data())),
        }),
    }
}

fn internal(why: String) -> TaskExit {
    TaskExit::Error(fault(ErrorCode::INTERNAL_ERROR, why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::{access::caller::Transport, meta::Role};

    #[tokio::test]
    async fn a_task_is_its_caller_s_and_one_caller_leaves_tasks_for_others() {
        let tasks = Tasks::default();
        let who = |name: &str| Arc::new(Caller::new(name, Role::OpsRw, Transport::Http));
        let start = |caller: &Arc<Caller>| tasks.start(caller, Box::new(|_task| Box::pin(std::future::pending())));
        let (mine, yours) = (who("token:mine"), who("token:yours"));
        let id = start(&mine).unwrap()["taskId"].as_str().unwrap().to_owned();
        assert!(tasks.of(&id, "token:mine").is_some());
        assert!(tasks.of(&id, "token:yours").is_none() && tasks.of("another", "token:mine").is_none());
        let refused = std::iter::repeat_with(|| start(&mine)).find_map(Result::err).unwrap();
        assert_eq!(refused.details["limit"], TASKS / 4);
        start(&yours).unwrap();
    }
}
