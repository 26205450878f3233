UPDATE search_v1.checkpoint
SET sequence = 0, epoch = epoch + 1, lease_until = NULL, holder = NULL, indexed_at = '-infinity',
    record_id = NULL, commit_sequence = NULL, commit_id = NULL, chain = NULL
