// Examples for the operators' OpenAPI document.

const PAYMENT_KEY = '5f0c1b2d-3e4f-4a5b-8c6d-7e8f90a1b2c3'

const SETTLEMENT_FILE = `type,key,reference,amount,currency,fee,status
payment,${PAYMENT_KEY},,1250.50,KES,,success
`

export const RECONCILE_BODY_EXAMPLE = {
  gateway: 'sandbox',
  fileName: 'settlement.csv',
  content: Buffer.from(SETTLEMENT_FILE).toString('base64'),
}

const COUNTS = { rows: 1, ignored: 0, matched: 0, settled: 0, breaks: 1 }

const FOUND_BREAK = {
  kind: 'missing_in_ledger',
  subject: `payment ${PAYMENT_KEY}`,
  line: 2,
  merchantUuid: null,
  paymentUuid: null,
  refundUuid: null,
  ours: null,
  theirs: {
    key: PAYMENT_KEY,
    reference: null,
    status: 'success',
    amount: '1250.50',
    currency: 'KES',
    fee: null,
  },
}

export const PREVIEW_EXAMPLE = { ...COUNTS, breaksFound: [FOUND_BREAK] }

export const RECONCILIATION_EXAMPLE = {
  uuid: '0197a3c5-1750-7f04-9faf-ec85930a554e',
  gateway: 'sandbox',
  merchantUuid: null,
  format: 'neutral',
  fileName: 'settlement.csv',
  coversFrom: null,
  coversTo: null,
  status: 'finished',
  ...COUNTS,
  createdAt: '2026-03-15T06:00:00.000Z',
  finishedAt: '2026-03-15T06:00:00.038Z',
}

export const BREAK_EXAMPLE = {
  uuid: '0197a3c5-1762-7a95-b60d-105ddcee13c8',
  ...FOUND_BREAK,
  gateway: 'sandbox',
  reconciliationUuid: RECONCILIATION_EXAMPLE.uuid,
  state: 'open',
  owner: null,
  note: null,
  closedBy: null,
  openedAt: '2026-03-15T06:00:00.019Z',
  closedAt: null,
  ageDays: 0,
}
