-- One index over time for each line of a wallet's statement. The list without a currency merges those of its currencies.
drop index wallet_lines_by_time;
