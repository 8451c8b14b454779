import { Type } from 'typebox'
import { addMs } from '../../kit/clock.ts'
import { failureOf, PAYMENT_SCOPES, type PaymentRecord, readPayments } from '../payment.ts'
import { readTool, type ToolContext } from '../tool.ts'
import { meaningOf } from './explain-payment.ts'
import { counted } from './fields.ts'

const HOUR_MS = 3_600_000
const MAX_HOURS = 24 * 31
const PAGE_ROWS = 100

/**
 * What is read, and how many pages of each at most; a page of a hundred costs five requests of the rate limit. Each is
 * read by itself: checkouts that payers never opened can be many, and would leave no page for the declined ones.
 */
const SOURCES = [
  { status: 'failed', pages: 3 },
  { status: 'abandoned,expired', pages: 2 },
  { status: 'pending', pages: 2 },
] as const
const MAX_GROUPS = 20
const EXAMPLES = 3

export const recentFailures = readTool({
  name: 'recent_failures',
  title: 'Count recent failures',
  description:
    'Payments and charges of the last hours that were declined or ended unpaid, counted by reason, gateway and channel, the most frequent first, beside the number of paid ones. Open checkouts whose last attempt was declined are included. Each group has examples for explain_payment.',
  scopes: PAYMENT_SCOPES,
  input: {
    hours: Type.Optional(
      Type.Integer({ minimum: 1, maximum: MAX_HOURS, description: 'How far back; 24 if absent.' }),
    ),
    paymentGateway: Type.Optional(Type.String({ maxLength: 40, description: 'Only this gateway.' })),
  },
  async run(context, { hours = 24, paymentGateway }) {
    const createdFrom = addMs(context.now, -hours * HOUR_MS).toISOString()
    const filter = { createdFrom, paymentGateway }
    const sources = []
    for (const { status, pages } of SOURCES)
      sources.push(await readFailures(context, { ...filter, status }, pages))
    const failed = sum(sources)
    const { meta } = await readPayments(context, { ...filter, status: PAID, limit: 1 })
    const paid = { count: meta.total, isExact: !meta.totalIsCapped }
    const rows = sources.flatMap((source) => source.rows)
    const isComplete = sources.every((source) => source.isComplete)
    const groups = groupFailures(rows)
    return {
      headline: `In the last ${counted(hours, 'hour')}: ${atLeast(failed)} declined or ended unpaid, ${atLeast(paid)} paid.${firstOf(groups)}${isComplete ? '' : ` The answer is incomplete: its groups count ${counted(rows.length, 'payment')}, the newest of each status.`}`,
      data: {
        createdFrom,
        failed: failed.count,
        failedIsExact: failed.isExact,
        paid: paid.count,
        paidIsExact: paid.isExact,
        isComplete,
        groups: groups.slice(0, MAX_GROUPS),
      },
    }
  },
})

const PAID = 'successful,partially_refunded,refunded,disputed,reversed'

interface Count {
  count: number
  isExact: boolean
}

const atLeast = ({ count, isExact }: Count) => `${isExact ? '' : 'at least '}${counted(count, 'payment')}`

const sum = (counts: readonly Count[]): Count => ({
  count: counts.reduce((total, { count }) => total + count, 0),
  isExact: counts.every(({ isExact }) => isExact),
})

function firstOf([most]: ReturnType<typeof groupFailures>): string {
  return most ? ` Most frequent: ${most.reason} at ${most.paymentGateway}, ${most.count} of them.` : ''
}

interface Failures extends Count {
  rows: PaymentRecord[]
  /** Whether the rows are all of them. */
  isComplete: boolean
}

/** The newest payments of a status that were declined or ended unpaid, and how many there are. */
async function readFailures(
  context: ToolContext,
  filter: Readonly<Record<string, string | undefined>>,
  maxPages: number,
): Promise<Failures> {
  const isOpen = filter.status === 'pending'
  const rows: PaymentRecord[] = []
  let cursor: string | undefined
  for (let page = 1; ; page += 1) {
    const { data, meta } = await readPayments(context, { ...filter, limit: PAGE_ROWS, cursor })
    // An open checkout counts only if its last attempt was declined.
    rows.push(...data.filter((row) => !isOpen || failureOf(row) !== null))
    const isComplete = meta.nextCursor === null
    if (isComplete) return { rows, isComplete, count: rows.length, isExact: true }
    if (page === maxPages)
      return isOpen
        ? { rows, isComplete, count: rows.length, isExact: false }
        : { rows, isComplete, count: meta.total, isExact: !meta.totalIsCapped }
    cursor = meta.nextCursor ?? undefined
  }
}

/** A checkout that was cancelled or has expired after a decline counts for the decline. */
const reasonOf = (row: PaymentRecord) => failureOf(row)?.code ?? row.status

function groupFailures(rows: readonly PaymentRecord[]) {
  const groups = Map.groupBy(rows, (row) => [reasonOf(row), row.paymentGateway, row.channel ?? ''].join(' '))
  return [...groups.values()]
    .map((members) => toGroup(members))
    .toSorted((one, other) => other.count - one.count)
}

function toGroup(members: readonly PaymentRecord[]) {
  const [newest] = members
  if (!newest) throw new Error('a group of failures has at least one payment')
  const failure = failureOf(newest)
  return {
    reason: reasonOf(newest),
    meaning: failure?.message ?? meaningOf(newest.status),
    retryable: failure?.retryable,
    paymentGateway: newest.paymentGateway,
    channel: newest.channel ?? undefined,
    count: members.length,
    stillOpen: members.filter(({ status }) => status === 'pending').length,
    newestAt: newest.createdAt,
    examples: members.slice(0, EXAMPLES).map(({ uuid }) => uuid),
  }
}
