// The three records that are compared after the run: the database, the provider's log of executions, and the webhooks
// that the merchant's server received.

import { readFile } from 'node:fs/promises'
import { type Db, sql } from '../../../src/kit/db/db.ts'

export interface PaymentRecord {
  id: string
  reference: string
  status: string
  reason: string | null
  /** Every status of the payment, in order. */
  history: string[]
  /** The keys of its attempts at the gateway. */
  keys: string[]
  refundedMinor: bigint
}

export interface RefundRecord {
  id: string
  paymentId: string
  status: string
  gatewayKey: string
}

export interface EventRecord {
  id: string
  /** The status of each of its deliveries. */
  deliveries: string[]
}

export interface Execution {
  key: string
  /** The id of the payment. */
  order: string
  kind: 'checkout' | 'charge' | 'refund'
  minor: bigint
}

export interface RunRecords {
  payments: PaymentRecord[]
  refunds: RefundRecord[]
  events: EventRecord[]
  executions: Execution[]
}

const selectPayments = sql<PaymentRecord>`
select
  p.id,
  p.reference,
  p.status,
  p.status_reason as reason,
  (
    select json_agg(h.status order by h.version)
    from (
      select 1 as version, case p.kind when 'charge' then 'processing' else 'pending' end as status
      union all
      select m.version, m.to_status
      from moves m
      where m.merchant_id = p.merchant_id and m.payment_id = p.id
    ) h
  ) as history,
  (
    select coalesce(json_agg(a.gateway_key), '[]')
    from attempts a
    where a.merchant_id = p.merchant_id and a.payment_id = p.id
  ) as keys,
  (
    select coalesce(sum(r.amount_minor), 0)::bigint
    from refunds r
    where r.merchant_id = p.merchant_id and r.payment_id = p.id and r.status = 'successful'
  ) as "refundedMinor"
from payments p`

const selectRefunds = sql<RefundRecord>`
select id, payment_id as "paymentId", status, gateway_key as "gatewayKey"
from refunds`

const selectEvents = sql<EventRecord>`
select
  v.id,
  (
    select coalesce(json_agg(d.status), '[]')
    from deliveries d
    where d.merchant_id = v.merchant_id and d.event_id = v.id
  ) as deliveries
from events v
where v.created_at > (select min(checked_from) from webhook_endpoints)`

export async function readRecords(db: Db, providerLog: string): Promise<RunRecords> {
  const [payments, refunds, events, executions] = await Promise.all([
    db.query(selectPayments),
    db.query(selectRefunds),
    db.query(selectEvents),
    readExecutions(providerLog),
  ])
  return { payments, refunds, events, executions }
}

/** The executed payments and refunds. The log has one line per change of a key, and the last one counts. */
async function readExecutions(file: string): Promise<Execution[]> {
  const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '')
  const records = new Map(lines.map((line) => JSON.parse(line)).map((record) => [record.key, record]))
  return [...records.values()].flatMap(({ key, order, kind, status, amount, paid }) => {
    const minor = kind === 'refund' && status === 'succeeded' ? amount : paid
    return minor === null ? [] : [{ key, order, kind, minor: BigInt(minor) }]
  })
}
