-- Tasks that outlive the call that started them: research handed to a vendor,
-- the notification of its end, what it was expected to take, and words to find
-- any task by.

-- It goes on without anybody who waits, in whichever process takes it up.
ALTER TABLE tasks ADD COLUMN background INTEGER NOT NULL DEFAULT 0;
-- When it is ended, at the vendor too.
ALTER TABLE tasks ADD COLUMN deadline INTEGER;
-- Whether the user wants to be told of its end, and when that was taken in hand.
ALTER TABLE tasks ADD COLUMN notify INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN notified_at INTEGER;
-- What it may cost at the most, held against the day's budget as long as it runs.
ALTER TABLE tasks ADD COLUMN reserved_usd REAL;

CREATE INDEX tasks_to_tell ON tasks (finished_at) WHERE notify = 1 AND notified_at IS NULL;

-- The long job at a vendor that a task waits for, as it was last seen.
CREATE TABLE jobs (
    task_id    TEXT PRIMARY KEY NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    -- The call that started it.
    call       INTEGER NOT NULL,
    plugin     TEXT NOT NULL,
    -- The vendor's name for it.
    job_id     TEXT NOT NULL,
    state      TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    -- `wanted` until the vendor has been told to stop, then `done`.
    cancel     TEXT
) STRICT;

CREATE INDEX jobs_to_cancel ON jobs (task_id) WHERE cancel = 'wanted';

-- What was expected of a task when it began, to be held against what it took.
CREATE TABLE forecasts (
    task_id      TEXT PRIMARY KEY NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    complexity   TEXT NOT NULL,
    seconds_low  REAL NOT NULL,
    seconds_high REAL NOT NULL,
    cost_low     REAL NOT NULL,
    cost_high    REAL NOT NULL,
    -- How many past runs it rests on.
    runs         INTEGER NOT NULL,
    made_at      INTEGER NOT NULL
) STRICT;

-- Full-text search over questions and reports. The index keeps no text of its
-- own: `number` ties its rows to tasks.
CREATE TABLE task_texts (
    number  INTEGER PRIMARY KEY,
    task_id TEXT NOT NULL UNIQUE REFERENCES tasks (id) ON DELETE CASCADE
) STRICT;

CREATE VIRTUAL TABLE task_words USING fts5 (
    question, report,
    content = '', contentless_delete = 1,
    tokenize = 'porter unicode61 remove_diacritics 2'
);

INSERT INTO task_texts (task_id) SELECT id FROM tasks ORDER BY created_at;
INSERT INTO task_words (rowid, question, report)
SELECT number, text, coalesce(markdown, '')
FROM task_texts JOIN tasks ON tasks.id = task_id LEFT JOIN results USING (task_id);
