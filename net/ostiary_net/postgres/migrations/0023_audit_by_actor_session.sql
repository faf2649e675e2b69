-- No entry of the token service has an actor's session, so none of them is in this index.
CREATE INDEX CONCURRENTLY audit_by_actor_session ON audit (actor_session_id, at, number)
    WHERE actor_session_id IS NOT NULL;
