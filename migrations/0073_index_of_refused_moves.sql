-- The list of cells names the merchants whose move was refused, however many moves there were.
create index merchant_moves_refused on merchant_moves (merchant_id) where step = 'copy' and is_refused;
