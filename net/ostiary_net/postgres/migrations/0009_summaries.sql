-- What happened, counted hour by hour (ostiary_core.storage.summaries), so that an overview need not read the trail.
-- The client '' stands for all of them together.

CREATE TABLE summaries (
    client_id TEXT COLLATE "C" NOT NULL,
    hour      BIGINT NOT NULL,
    what      TEXT COLLATE "C" NOT NULL,
    detail    TEXT COLLATE "C" NOT NULL,
    number    BIGINT NOT NULL,
    total_ms  BIGINT NOT NULL,
    most_ms   BIGINT NOT NULL,
    PRIMARY KEY (client_id, hour, what, detail)
);

-- For those of every client, and for what is erased by its age.
CREATE INDEX summaries_by_hour ON summaries (hour);

-- The last refusals of each client.
CREATE TABLE refusals (
    client_id TEXT COLLATE "C" NOT NULL,
    at        BIGINT NOT NULL,
    trace_id  TEXT COLLATE "C" NOT NULL,
    operation TEXT COLLATE "C" NOT NULL,
    why       TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (client_id, at, trace_id)
);

-- When something was last done, and up to which number the entries of the trail are counted.
CREATE TABLE milestones (
    name  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    value BIGINT NOT NULL
);
