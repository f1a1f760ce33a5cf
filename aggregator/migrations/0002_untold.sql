-- Studies that failed at a coordinator, and whose helper does not know it yet.
CREATE INDEX studies_untold ON studies (hash)
    WHERE json_extract(CAST(record AS TEXT), '$.failed') IS NOT NULL AND json_extract(CAST(record AS TEXT), '$.told') IS NULL;
