-- References are searched by pieces of three characters instead of by every three characters, so a payment has a third of the
-- entries: its reference writes half as much WAL, and the index takes a third of the space. A text can begin at each of the
-- three characters of a piece, so a search asks for three sets of pieces (src/core/search-text.ts).
--
-- Only ASCII letters are folded, and in every database the same way. The character U+0001 separates the pieces.
create function reference_pieces(reference text) returns tsvector
language plpgsql immutable strict parallel safe as $$
begin
  return array_to_tsvector(
    string_to_array(
      regexp_replace(translate(lower(reference collate "C"), E'\x01', E'\x02'), '(...)(?=.)', E'\\1\x01', 'g'), E'\x01'
    )
  );
end
$$;

drop index payment_references_search;
create index payment_references_search on payment_references using gin (reference_pieces(reference), merchant_id)
with (gin_pending_list_limit = 8192);
