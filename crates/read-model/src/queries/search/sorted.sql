(
        SELECT recorded_at, conversation_id, version
        FROM candidates
        ORDER BY recorded_at DESC, conversation_id DESC, version DESC
    )
