-- What finance works with: breaks of a merchant's own accounts, deadlines of disputes, and a case for a dispute in another
-- currency.

create index reconciliations_by_merchant on reconciliations (merchant_id, created_at, id);
create index reconciliation_breaks_by_merchant on reconciliation_breaks (merchant_id, opened_at, id);

-- The people of a merchant close the breaks of its own accounts, with a note like operators.
alter table reconciliation_breaks
drop constraint reconciliation_breaks_closed_by_check,
add constraint reconciliation_breaks_closed_by_check check (closed_by in ('file', 'operator', 'merchant')),
add constraint reconciliation_breaks_note_check check (closed_by is distinct from 'merchant' or note is not null);

-- Until when the provider accepts a response. Null: it does not say, or waits for none.
alter table disputes add column respond_by timestamptz;

-- The nearest deadline comes first, and disputes without one last.
create index disputes_by_deadline on disputes (
  merchant_id, (coalesce(respond_by, timestamptz '9999-12-31 00:00:00+00')), id
);

alter table cases
drop constraint cases_kind_check,
add constraint cases_kind_check check (
  kind in (
    'underpaid', 'overpaid', 'currency_mismatch', 'reference_mismatch', 'payment_requires_review', 'unknown_answer',
    'processing_too_long', 'duplicate_not_refundable', 'duplicate_refund_failed', 'duplicate_disputed',
    'duplicate_disputed_after_refund', 'refund_requires_review', 'refund_failed_late', 'refund_not_booked',
    'dispute_currency_mismatch'
  )
);
