// Reads the whole statement of a wallet: every line has the running balance, no line is missing or repeated, the last
// one is the balance, and the CSV file has the same lines.

import assert from 'node:assert/strict'
import { type ApiRecord, CHECKOUT_CURRENCIES } from './command-context.ts'
import { netOf, readMinor, type Shop } from './model.ts'
import { type CommandContext, sendRequest } from './world.ts'

/** All items of a list, page by page. */
export async function readAll(context: CommandContext, path: string): Promise<ApiRecord[]> {
  const items: ApiRecord[] = []
  let cursor: string | null = null
  do {
    const next: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const { http, body, text } = await sendRequest(
      context,
      'GET',
      `${path}${path.includes('?') ? '&' : '?'}limit=100${next}`,
    )
    assert.equal(http, 200, text)
    items.push(...body.data)
    cursor = body.meta.nextCursor
  } while (cursor !== null)
  return items
}

export async function assertStatement(context: CommandContext): Promise<number> {
  const lines = await readAll(context, '/api/v1/wallet/transactions?sort=createdAt:asc')
  const newestFirst = await readAll(context, '/api/v1/wallet/transactions')
  assert.deepEqual(newestFirst.map(nameOf).reverse(), lines.map(nameOf), 'both ways through the statement')
  assertOrder(lines)
  await assertRunningBalances(context, lines)
  assertPaymentLines(context.shop, lines)
  await assertExport(context, lines)
  return lines.length
}

const nameOf = ({ currency, number }: ApiRecord) => `${currency} ${number}`

function assertOrder(lines: readonly ApiRecord[]): void {
  assert.equal(new Set(lines.map(nameOf)).size, lines.length, 'no line is there twice')
  const times = lines.map(({ createdAt }) => createdAt)
  assert.deepEqual(times.toSorted(), times, 'times never go back')
}

async function assertRunningBalances(context: CommandContext, lines: readonly ApiRecord[]): Promise<void> {
  const { body } = await sendRequest(context, 'GET', '/api/v1/wallet/balance')
  for (const currency of CHECKOUT_CURRENCIES) {
    const running = { available: 0n, pending: 0n }
    for (const [index, line] of lines.filter((one) => one.currency === currency).entries()) {
      assert.equal(line.number, index + 1, `the lines of ${currency} are numbered without a gap`)
      running[line.balance as 'available' | 'pending'] += readMinor(line.amount, currency)
      assert.deepEqual(balancesOf(line, currency), running, `line ${nameOf(line)}`)
    }
    const balance = body.data.balances.find((one: ApiRecord) => one.currency === currency)
    if (balance) assert.deepEqual(balancesOf(balance, currency), running, `the last line is the balance`)
  }
}

function balancesOf(shown: ApiRecord, currency: (typeof CHECKOUT_CURRENCIES)[number]) {
  return {
    available: readMinor(shown.availableBalance, currency),
    pending: readMinor(shown.pendingBalance, currency),
  }
}

/** Each line names its payment: their sum is the wallet's amount of the payment. */
function assertPaymentLines(shop: Shop, lines: readonly ApiRecord[]): void {
  const byPayment = Map.groupBy(lines, ({ payment }) => payment.uuid)
  for (const payment of shop.payments) {
    const own = byPayment.get(payment.uuid) ?? []
    const sum = own.reduce((total, { amount }) => total + readMinor(amount, payment.currency), 0n)
    assert.equal(sum, netOf(payment), `the lines of ${payment.reference}, which is ${payment.status}`)
    for (const line of own) assert.equal(line.payment.reference, payment.reference)
    byPayment.delete(payment.uuid)
  }
  assert.deepEqual([...byPayment.keys()], [], 'no line names an unknown payment')
}

async function assertExport(context: CommandContext, lines: readonly ApiRecord[]): Promise<void> {
  const { text } = await sendRequest(context, 'GET', '/api/v1/wallet/transactions/export')
  const [head = '', ...rows] = text.replace('\uFEFF', '').trimEnd().split('\r\n')
  const columns = head.split(',').map((cell) => cell.replaceAll('"', ''))
  const cells = (line: ApiRecord) =>
    columns.map((name) => {
      if (name === 'payment') return line.payment.uuid
      return name === 'reference' ? line.payment.reference : String(line[name])
    })
  const written = rows.map((row) => row.slice(1, -1).split('","'))
  assert.deepEqual(written, lines.map(cells), 'the file has the lines of the list')
}
