-- Tasks, their rounds, their calls and their results.
--
-- All times are milliseconds since 1970, UTC. No column lists the words it may
-- hold in a CHECK: a later version adds words, and SQLite cannot change a
-- constraint without rebuilding the table.

CREATE TABLE tasks (
    id          TEXT PRIMARY KEY NOT NULL,
    tool        TEXT NOT NULL,
    -- What was asked, in the asker's words; `question` is the whole, as JSON.
    text        TEXT NOT NULL,
    question    TEXT NOT NULL,
    status      TEXT NOT NULL,
    plan        TEXT,
    -- What the strategy asked to be handed back.
    memo        TEXT NOT NULL DEFAULT '',
    -- The process that works on it, and how often it has changed hands.
    owner       TEXT NOT NULL,
    epoch       INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    finished_at INTEGER,
    stop_reason TEXT,
    note        TEXT,
    error       TEXT
) STRICT;

CREATE INDEX tasks_by_time ON tasks (created_at);
CREATE INDEX tasks_by_status ON tasks (status, created_at);

CREATE TABLE rounds (
    task_id  TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    number   INTEGER NOT NULL,
    round    TEXT NOT NULL,
    saved_at INTEGER NOT NULL,
    PRIMARY KEY (task_id, number)
) STRICT, WITHOUT ROWID;

-- Written before a request is sent, completed after it returned: a row that
-- stays `sent` is a request whose fate is unknown.
CREATE TABLE calls (
    task_id      TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    number       INTEGER NOT NULL,
    round        INTEGER NOT NULL,
    plugin       TEXT NOT NULL,
    function     TEXT NOT NULL,
    request_hash TEXT NOT NULL,
    state        TEXT NOT NULL,
    sent_at      INTEGER NOT NULL,
    returned_at  INTEGER,
    -- The answer when it is `answered`, the error when it is `failed`.
    outcome      TEXT,
    usage        TEXT,
    cost_usd     REAL,
    PRIMARY KEY (task_id, number)
) STRICT;

CREATE INDEX calls_by_time ON calls (sent_at);
-- The few whose fate is open are looked for at every start.
CREATE INDEX calls_without_answer ON calls (task_id) WHERE state = 'sent';

CREATE TABLE results (
    task_id  TEXT PRIMARY KEY NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    outcome  TEXT NOT NULL,
    markdown TEXT NOT NULL,
    saved_at INTEGER NOT NULL
) STRICT;
