-- Accounts that were deleted are found by name in the trail.
CREATE INDEX CONCURRENTLY users_deleted ON users (username, user_id) WHERE deleted_at IS NOT NULL;
