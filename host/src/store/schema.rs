//! The shape of the database and how an older one is brought to it. A migration
//! that was released is never edited: the next one is added below it.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::error::{Fault, Result, StoreError};

/// The file's `user_version` is how many of these it has been through.
const MIGRATIONS: &[&str] =
    &[include_str!("migrations/0001_tasks.sql"), include_str!("migrations/0002_background.sql")];

/// "BATH", in the header of every database of ours.
const APPLICATION_ID: i32 = 0x4241_5448;

/// The schema that this version reads and writes.
pub(super) fn known_version() -> usize {
    MIGRATIONS.len()
}

/// Brings the database to the schema of this version: all the way, or not at
/// all.
pub(super) fn migrate(connection: &mut Connection) -> Result<()> {
    // Almost always there is nothing to do, and finding that out takes no lock.
    if check(connection)? == known_version() {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have done it while we waited for the lock.
    let version = inspect(&transaction)?;
    apply(&transaction, version)?;
    transaction.commit()?;
    Ok(())
}

fn apply(transaction: &Transaction<'_>, version: usize) -> Result<()> {
    for migration in &MIGRATIONS[version..] {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "user_version", known_version() as i64)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    Ok(())
}

/// The schema the file has; refuses what is not ours or newer than we know.
pub(super) fn check(connection: &Connection) -> Result<usize> {
    // One picture of the file: another process may be making it just now, and
    // half of what it makes would look like a database of someone else.
    inspect(&connection.unchecked_transaction()?)
}

/// The same within a transaction.
pub(super) fn inspect(connection: &Transaction<'_>) -> Result<usize> {
    let application: i32 =
        connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if application == APPLICATION_ID {
        let version = usize::try_from(version).unwrap_or(usize::MAX);
        if version > known_version() {
            return Err(fault(
                Fault::NewerSchema,
                format!("its schema is {version}, this version knows {}", known_version()),
            ));
        }
        return Ok(version);
    }
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if application == 0 && version == 0 && tables == 0 {
        return Ok(0);
    }
    Err(fault(Fault::Foreign, String::new()))
}

fn fault(fault: Fault, detail: String) -> StoreError {
    StoreError::Database { fault, path: std::path::PathBuf::new(), detail }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn migrated() -> Connection {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection).unwrap();
        connection
    }

    #[test]
    fn a_fresh_database_gets_the_newest_schema() {
        let mut connection = migrated();
        assert_eq!(check(&connection), Ok(known_version()));
        let tables: Vec<String> = connection
            .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'task_words_%'
                 ORDER BY name",
            )
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        assert_eq!(
            tables,
            [
                "calls",
                "forecasts",
                "jobs",
                "results",
                "rounds",
                "task_texts",
                "task_words",
                "tasks"
            ]
        );
        // Doing it again changes nothing and fails at nothing.
        assert_eq!(migrate(&mut connection), Ok(()));
    }

    #[test]
    fn a_newer_schema_is_refused_and_left_alone() {
        let mut connection = migrated();
        connection.pragma_update(None, "user_version", 1000).unwrap();
        let error = migrate(&mut connection).unwrap_err();
        assert_eq!(error.fault(), Some(Fault::NewerSchema));
        assert!(error.to_string().contains("its schema is 1000"), "{error}");
        let version: i64 =
            connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        assert_eq!(version, 1000);
    }

    #[test]
    fn a_database_of_another_program_is_refused_and_left_alone() {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE bookmarks (url TEXT)").unwrap();
        assert_eq!(migrate(&mut connection).unwrap_err().fault(), Some(Fault::Foreign));
        let tables: i64 = connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .unwrap();
        assert_eq!(tables, 1);
    }

    #[test]
    fn a_migration_that_fails_leaves_nothing_behind() {
        let mut connection = Connection::open_in_memory().unwrap();
        {
            let transaction = connection.transaction().unwrap();
            apply(&transaction, 0).unwrap();
            transaction.execute_batch("CREATE TABLE tasks (id TEXT)").unwrap_err();
        }
        assert_eq!(check(&connection), Ok(0));
    }
}
