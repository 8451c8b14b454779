// Chargebacks. A transaction does not contain its chargebacks; a second request lists them by Flutterwave's reference
// (flw_ref). The list has no currency: amounts are in that of the payment.

import { type Static, Type } from 'typebox'
import { type Money, money } from '../../core/money.ts'
import { schemaReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type { DisputeList, DisputeReport, Gateway, KeyLookup, Outcome } from '../gateway.ts'
import { Maybe, readTime, type Succeeded, type Unknown, unknown, unrecognized } from '../reply.ts'
import { DECIMAL, fromMajor } from './amounts.ts'
import type { Client } from './client.ts'
import { redact } from './declines.ts'
import { describeAccessError, Identity, readReply, Text } from './response.ts'

const Chargeback = Type.Object({
  id: Type.String({ pattern: '^[1-9][0-9]{0,18}$' }),
  // Any text: the switch handles unknown values.
  status: Text,
  amount: Maybe(Type.String({ pattern: DECIMAL })),
  flw_ref: Maybe(Text),
  tx_ref: Maybe(Identity),
  transaction_id: Maybe(Text),
  due_date: Maybe(Text),
})
type Chargeback = Static<typeof Chargeback>

const readChargebacks = schemaReader(Type.Array(Chargeback))

type ChargebackOperations = Required<Pick<Gateway, 'listDisputes' | 'findKey'>> & {
  /** Adds the chargebacks of the payment to its success, if there are any. */
  addChargebacks(paid: Succeeded): Promise<Outcome>
}

export function createChargebackOperations({ get }: Client): ChargebackOperations {
  const listOf = async (reference: string) =>
    fromList(await get(`/chargebacks?flw_ref=${encodeURIComponent(reference)}`))

  return {
    async addChargebacks(paid) {
      // Without its reference the chargebacks of a payment cannot be distinguished from those of others.
      if (paid.receiptNumber === undefined) return paid
      const list = await listOf(paid.receiptNumber)
      return 'kind' in list ? list : withChargebacks(paid, list)
    },

    async findKey(reference): Promise<KeyLookup> {
      const list = await listOf(reference)
      if ('kind' in list) return list
      return { kind: 'key', key: list.find(({ tx_ref: key }) => key != null)?.tx_ref ?? null }
    },

    async listDisputes({ from, to }): Promise<DisputeList> {
      const days = `from=${toDay(from)}&to=${toDay(to)}`
      const found = new Map<string, Chargeback>()
      for (let page = 1; page <= MAX_PAGES; page += 1) {
        const list = fromList(await get(`/chargebacks?${days}&page=${page}`))
        if ('kind' in list) return list
        const known = found.size
        for (const chargeback of list) found.set(chargeback.id, chargeback)
        if (found.size === known) break
      }
      return { kind: 'disputes', disputes: [...found.values()].map(toListed) }
    },
  }
}

// The length of a page is not documented, so a page without new chargebacks is the last one.
const MAX_PAGES = 50
const toDay = (time: Date) => time.toISOString().slice(0, 10)

function fromList(result: HttpResult): Chargeback[] | Unknown {
  const reply = readReply(result)
  if (reply.kind === 'unknown') return reply
  if (reply.kind === 'error') {
    const { http, providerMessage } = reply
    const isEmpty = http === 404 || (http === 400 && /no chargeback|not found/i.test(providerMessage ?? ''))
    if (isEmpty && providerMessage !== null) return []
    const accessError = describeAccessError(reply)
    if (accessError) return unknown('no_answer', accessError)
    return unknown(
      providerMessage === null ? 'unreadable' : 'unrecognized',
      `Flutterwave answered HTTP ${http}`,
    )
  }
  if (reply.data == null) return []
  return readChargebacks(reply.data) ?? unrecognized('Flutterwave answered chargebacks that cannot be read')
}

function withChargebacks(paid: Succeeded, list: readonly Chargeback[]): Outcome {
  // Should the filter be ignored, the chargebacks of other payments are not this one's.
  const own = list.filter(({ flw_ref: reference }) => reference == null || reference === paid.receiptNumber)
  // Latest first; ids only grow.
  const latest = own.toSorted((a, b) => Number(BigInt(b.id) - BigInt(a.id)))
  const reports: DisputeReport[] = []
  for (const chargeback of latest) {
    const status = toStatus(chargeback.status)
    if (!status) return unrecognized(`Flutterwave answered a chargeback that is ${redact(chargeback.status)}`)
    const report = { status, amount: amountOf(chargeback, paid.paid), reference: chargeback.id }
    reports.push({ ...report, ...deadlineOf(chargeback) })
  }
  return reports.length > 0 ? { ...paid, disputes: reports } : paid
}

/** Undefined for a status that we do not know. */
function toStatus(status: string): DisputeReport['status'] | undefined {
  switch (status.toLowerCase()) {
    case 'initiated':
    case 'pending':
    // Declined by the merchant, with evidence: now the bank decides.
    case 'declined':
      return 'open'
    // Accepted by the merchant, or because there was no response in time.
    case 'accepted':
    case 'lost':
      return 'lost'
    case 'won':
      return 'won'
    default:
      return undefined
  }
}

/** While Flutterwave waits for the merchant. */
function deadlineOf({ status, due_date: text }: Chargeback): Pick<DisputeReport, 'respondBy'> {
  const respondBy = ['initiated', 'pending'].includes(status.toLowerCase()) ? readTime(text) : undefined
  return respondBy ? { respondBy } : {}
}

/** The whole payment if none is given. */
function amountOf({ amount }: Chargeback, paid: Money): Money {
  const claimed = amount == null ? undefined : fromMajor(amount, paid.currency, money(0n, paid.currency))
  return claimed && claimed.minor > 0n ? claimed : paid
}

function toListed(chargeback: Chargeback) {
  const { id, status, tx_ref: key, flw_ref: reference, transaction_id: payment } = chargeback
  return {
    reference: id,
    status: toStatus(status) ?? ('unrecognized' as const),
    paymentNames: [key, reference, payment].filter((name) => name != null),
  }
}
