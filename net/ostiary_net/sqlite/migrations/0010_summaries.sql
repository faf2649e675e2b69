-- What happened, counted hour by hour (ostiary_core.storage.summaries), so that an overview need not read the trail.
-- The client '' stands for all of them together.

CREATE TABLE summaries (
    client_id TEXT NOT NULL,
    hour      INTEGER NOT NULL,
    what      TEXT NOT NULL,
    detail    TEXT NOT NULL,
    number    INTEGER NOT NULL,
    total_ms  INTEGER NOT NULL,
    most_ms   INTEGER NOT NULL,
    PRIMARY KEY (client_id, hour, what, detail)
) STRICT, WITHOUT ROWID;

-- For those of every client, and for what is erased by its age.
CREATE INDEX summaries_by_hour ON summaries (hour);

-- The last refusals of each client.
CREATE TABLE refusals (
    client_id TEXT NOT NULL,
    at        INTEGER NOT NULL,
    trace_id  TEXT NOT NULL,
    operation TEXT NOT NULL,
    why       TEXT NOT NULL,
    PRIMARY KEY (client_id, at, trace_id)
) STRICT, WITHOUT ROWID;

-- When something was last done, and up to which number the entries of the trail are counted.
CREATE TABLE milestones (
    name  TEXT NOT NULL PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
