-- A new customer cost the database as much work for the search index as for everything else. A function in SQL is planned again
-- by each statement that calls it, one in PL/pgSQL once for each connection. It returns the same n-grams.
create or replace function search_ngrams(merchant_id uuid, content text) returns tsvector
language plpgsql immutable strict parallel safe as $$
begin
  return array_to_tsvector(
    array(
      select right(merchant_id::text, 8) || substr(content, n, 4)
      from generate_series(1, length(content)) as n
    )
  );
end
$$;

-- The list of new customers is merged with that of references, beside the requests (src/payments/merge-search-indexes.ts).
alter index customers_by_ngrams set (gin_pending_list_limit = 8192);
