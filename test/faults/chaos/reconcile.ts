// The comparison at the end of a run. Each check returns one sentence per difference, and none when the records agree.

import type { Consumer } from '../../support/consumer.ts'
import type { Acknowledgement } from './acknowledgements.ts'
import type { Execution, PaymentRecord, RunRecords } from './records.ts'

export interface Check {
  /** The name of the check in the table. */
  name: string
  failures: string[]
}

const PAID = ['successful', 'partially_refunded', 'refunded']

export function reconcile(
  acknowledgements: readonly Acknowledgement[],
  records: RunRecords,
  consumer: Pick<Consumer, 'receipts' | 'errors'>,
): Check[] {
  return [
    { name: 'acknowledged payments lost (I11)', failures: findLostPayments(acknowledgements, records) },
    { name: 'acknowledged refunds lost (I11)', failures: findLostRefunds(acknowledgements, records) },
    { name: 'references with two payments (I12)', failures: findDuplicateReferences(acknowledgements) },
    { name: 'double executions (I6)', failures: findDoubleExecutions(records) },
    { name: 'payments whose records differ', failures: findMismatches(records) },
    { name: 'executions without a record (I7)', failures: findUnrecorded(records) },
    { name: 'events not delivered (I10)', failures: findUndelivered(records, consumer) },
    { name: 'phantom or forged webhooks', failures: findPhantomEvents(records, consumer) },
  ]
}

/** Payments that are missing, have another reference, or never had the acknowledged status. */
function findLostPayments(acknowledgements: readonly Acknowledgement[], { payments }: RunRecords): string[] {
  const byId = new Map(payments.map((payment) => [payment.id, payment]))
  return acknowledgements
    .filter(({ about }) => about === 'payment')
    .flatMap(({ operation, uuid, reference, status }) => {
      const payment = byId.get(uuid)
      const what = `${operation} was answered with ${uuid} ${status}`
      if (!payment) return [`${what}, which is not in the database`]
      if (payment.reference !== reference) return [`${what}, whose reference is ${payment.reference}`]
      if (!payment.history.includes(status)) return [`${what}, but it was only ${payment.history.join(', ')}`]
      return []
    })
}

function findLostRefunds(acknowledgements: readonly Acknowledgement[], { refunds }: RunRecords): string[] {
  const byId = new Map(refunds.map((refund) => [refund.id, refund]))
  return acknowledgements
    .filter(({ about }) => about === 'refund')
    .flatMap(({ uuid, status }) => {
      const refund = byId.get(uuid)
      if (!refund) return [`refund ${uuid} ${status} is not in the database`]
      // A refund has one transition: from pending to its final status.
      const isLegal = status === 'pending' || status === refund.status
      return isLegal ? [] : [`refund ${uuid} was answered as ${status} and is ${refund.status}`]
    })
}

function findDuplicateReferences(acknowledgements: readonly Acknowledgement[]): string[] {
  const named = new Map<string, Set<string>>()
  for (const { about, reference, uuid } of acknowledgements) {
    if (about !== 'payment' || reference === null) continue
    named.set(reference, (named.get(reference) ?? new Set()).add(uuid))
  }
  return [...named]
    .filter(([, uuids]) => uuids.size > 1)
    .map(([reference, uuids]) => `${reference} was answered with ${[...uuids].join(' and ')}`)
}

/** Refunds are identified by their key: one key cannot have two, and two keys for one refund show in the sums. */
function findDoubleExecutions({ executions }: RunRecords): string[] {
  const taken = groupByOrder(executions.filter(({ kind }) => kind !== 'refund'))
  return [...taken]
    .filter(([, found]) => found.length > 1)
    .map(([order, found]) => `payment ${order} was executed ${found.length} times`)
}

/** Payments that are paid here must be collected at the provider, and refunds here must be executed there. */
function findMismatches({ payments, executions }: RunRecords): string[] {
  const byOrder = groupByOrder(executions)
  return payments.flatMap((payment) => {
    const found = byOrder.get(payment.id) ?? []
    const taken = found.filter(({ kind }) => kind !== 'refund').length
    const given = sumOf(found.filter(({ kind }) => kind === 'refund'))
    const isPaid = PAID.includes(payment.status)
    const summary = describe(payment)
    return [
      ...(isPaid === taken > 0 ? [] : [`${summary}, and the provider took its money ${taken} times`]),
      ...(given === payment.refundedMinor
        ? []
        : [`${summary}: ${payment.refundedMinor} was refunded here, and ${given} by the provider`]),
    ]
  })
}

function findUnrecorded({ payments, refunds, executions }: RunRecords): string[] {
  const keys = new Set([
    ...payments.flatMap((payment) => payment.keys),
    ...refunds.map((refund) => refund.gatewayKey),
  ])
  return executions
    .filter(({ key }) => !keys.has(key))
    .map(
      ({ kind, key, order }) =>
        `the provider executed a ${kind} of payment ${order} under ${key}, which has no record here`,
    )
}

function findUndelivered({ events }: RunRecords, { receipts }: Pick<Consumer, 'receipts'>): string[] {
  const received = new Set(receipts.map(({ id }) => id))
  return events.flatMap(({ id, deliveries }) => {
    if (deliveries.length === 0) return [`event ${id} has no delivery`]
    if (!deliveries.every((status) => status === 'delivered'))
      return [`event ${id} is ${deliveries.join(', ')}`]
    return received.has(id) ? [] : [`event ${id} is delivered, but was not received`]
  })
}

function findPhantomEvents(
  { events }: RunRecords,
  { receipts, errors }: Pick<Consumer, 'receipts' | 'errors'>,
): string[] {
  const known = new Set(events.map(({ id }) => id))
  const phantoms = receipts.filter(({ id }) => !known.has(id)).map(({ id }) => `there is no event ${id}`)
  return [...new Set(phantoms), ...errors]
}

function groupByOrder(executions: readonly Execution[]): Map<string, Execution[]> {
  return Map.groupBy(executions, ({ order }) => order)
}

function sumOf(executions: readonly Execution[]): bigint {
  return executions.reduce((sum, { minor }) => sum + minor, 0n)
}

function describe({ id, status, reason }: PaymentRecord): string {
  return `payment ${id} is ${status}${reason === null ? '' : ` (${reason})`}`
}
