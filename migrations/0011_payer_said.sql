-- What the payer of an attempt did before our eyes: said that the money was sent, came back from the gateway's page. Never
-- proof of anything, but what the page says next, in every tab and browser.

alter table attempts
  add column sent_at timestamptz,
  add column returned_at timestamptz;
