SET statement_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
-- Cancels statements whose client is gone.
SET client_connection_check_interval = '1s';
SET maintenance_work_mem = '256MB';
SET work_mem = '64MB';
SET plan_cache_mode = auto;
SET enable_seqscan = on;
SET enable_bitmapscan = on;
SET enable_hashjoin = on;
SET enable_mergejoin = on
