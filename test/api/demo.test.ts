// cowry demo beside a running service: a merchant with a history that reads well, and every invariant holds (checked when the
// file ends). The larger form has the usual size.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, describe, it } from 'node:test'
import { runCommandLine } from '../../src/cli/program.ts'
import { ENTRY_POINTS } from '../../src/entry-points.ts'
import { newVisitor, type Visitor } from '../support/dashboard.ts'
import { eventually } from '../support/process.ts'
import { sized } from '../support/scale.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after }, { isOwn: true })
const PAYMENTS = sized({ quick: 80, rest: 600, long: 6_000 })

async function runDemo(args: string[], env: Record<string, string> = {}) {
  let out = ''
  const write = (text: string) => {
    out += text
  }
  const terminal = { out: write, err: () => undefined }
  const base = { DATABASE_URL: service.databaseUrl, COWRY_DATA_DIR: service.dataDir }
  const code = await runCommandLine(['demo', '--json', ...args], {
    entryPoints: ENTRY_POINTS,
    terminal,
    env: { ...base, ...env },
  })
  return { code, answer: JSON.parse(out) }
}

const countMerchants = async () => (await service.admin.get('/admin/v1/merchants')).body.meta.total

const filled = await runDemo(['--payments', String(PAYMENTS), '--seed', '7'])
const api = service.apiWith(filled.answer.data.apiKey)
const from = new Date(Date.now() - 100 * 86_400_000).toISOString().slice(0, 10)

async function reportBy(group: string, field: string): Promise<Map<string, number>> {
  const { body, text } = await api.get(`/api/v1/reports/collections?from=${from}&groupBy=${group}`)
  assert.ok(body.data, text)
  const sums = new Map<string, number>()
  for (const row of body.data) sums.set(row[field], (sums.get(row[field]) ?? 0) + row.payments)
  return sums
}

const secret = () => randomBytes(32).toString('base64')

describe('cowry demo', () => {
  it('fills a merchant with as many payments as asked for, in several currencies', async () => {
    assert.equal(filled.code, 0, JSON.stringify(filled.answer))
    assert.equal(filled.answer.data.isNew, true)
    const currencies = await reportBy('currency', 'currency')
    const total = [...currencies.values()].reduce((sum, count) => sum + count, 0)
    assert.equal(total, PAYMENTS)
    for (const currency of ['NGN', 'KES', 'GHS', 'XOF']) assert.ok(currencies.has(currency), currency)
  })

  it('writes payments in believable shares of their states', async () => {
    const statuses = await reportBy('status', 'status')
    const share = (...names: string[]) =>
      names.reduce((sum, name) => sum + (statuses.get(name) ?? 0), 0) / PAYMENTS
    const paid = share('successful', 'refunded', 'partially_refunded', 'disputed', 'reversed')
    assert.ok(paid > 0.7 && paid < 0.95, `${paid} are paid`)
    assert.ok(share('expired', 'failed', 'abandoned') > 0.03, 'some end unpaid')
  })

  it('writes a statement whose lines are in the order of time', async () => {
    const { body } = await api.get('/api/v1/wallet/transactions?currency=NGN&limit=100')
    const lines: { number: number; createdAt: string }[] = body.data
    assert.ok(lines.length > 10)
    const byTime = lines.toSorted(
      (a, b) => b.createdAt.localeCompare(a.createdAt) || Number(b.number) - Number(a.number),
    )
    assert.deepEqual(lines, byTime)
  })

  it('leaves nothing due in the past, so that the service has nothing to repair', async () => {
    const { body } = await service.admin.get('/admin/v1/jobs')
    for (const { name, due } of body.data.jobs) assert.ok(due < 10, `${name}: ${due} due`)
  })

  it('signs in each of its people once by a link, with work that waits for them', async () => {
    const people = new Map<string, Visitor>()
    for (const { role, link } of filled.answer.data.people) {
      const { pathname } = new URL(link)
      const visitor = newVisitor(service)
      assert.equal((await visitor.submit(pathname, pathname)).http, 303, role)
      const again = await newVisitor(service).submit(pathname, pathname)
      assert.equal(again.http, 410, `${role}, a second time`)
      people.set(role, visitor)
    }
    assert.deepEqual(
      [...people.keys()],
      ['owner', 'admin', 'finance', 'support', 'developer', 'viewer', 'operator'],
    )
    const shows = async (role: string, path: string, text: RegExp) => {
      // The request log is written after about a second.
      const read = async () => (await people.get(role)?.get(path))?.text ?? ''
      const page = await eventually(read, (one) => text.test(one), 10_000)
      assert.match(page, text, `${role} at ${path}`)
    }
    await shows('finance', '/app', /refunds? waits? for the approval of a second person/)
    await shows('finance', '/app/refunds/requests?status=awaiting_approval', /Mariam Traoré/)
    await shows('support', '/app/payments', /Failed in Kenya/)
    await shows('developer', '/app/developers/requests', /initiate-payment/)
    await shows('developer', '/app/developers/requests?outcome=failed', /HTTP 4/)
    await shows('viewer', '/app/team', /Adaeze Okafor/)
    await shows('owner', '/app/audit?objectType=refund_request', /Mariam Traoré/)
    await shows('owner', '/app/audit?objectType=webhook_endpoint', /Tunde Bello/)
    await shows('operator', '/ops/reconciliations', /settlement-[\d-]+\.csv/)
    await shows('operator', '/ops/breaks', /Not in our records/)
  })

  it('makes a refund of a payment of the demo possible', async () => {
    const { body } = await api.get(
      '/api/v1/checkout/payments?status=successful&paymentGateway=sandbox&limit=1',
    )
    const paymentUuid = body.data[0].uuid
    const refund = await api.post('/api/v1/refunds', { paymentUuid, refundReference: 'from-the-test' })
    assert.equal(refund.http, 201, refund.text)
  })

  it('says that the merchant exists when it is run again, and changes nothing', async () => {
    const before = await countMerchants()
    const { code, answer } = await runDemo([])
    assert.equal(code, 0)
    const { people, ...same } = answer.data
    const { people: earlier, ...data } = filled.answer.data
    assert.deepEqual(same, { ...data, isNew: false })
    const named = (list: { role: string; name: string }[]) => list.map(({ role, name }) => [role, name])
    assert.deepEqual(named(people), named(earlier))
    assert.equal(await countMerchants(), before)
  })

  it('fills another merchant with --again', async () => {
    const { answer } = await runDemo(['--again', '--payments', '5', '--months', '1'])
    assert.equal(answer.data.isNew, true)
    assert.notEqual(answer.data.merchant.uuid, filled.answer.data.merchant.uuid)
  })

  it('is refused in production', async () => {
    const { code, answer } = await runDemo([], {
      COWRY_ENV: 'production',
      COWRY_PUBLIC_URL: 'https://pay.example',
      COWRY_ADMIN_TOKEN: secret(),
      COWRY_ENCRYPTION_KEYS: `k1:${secret()}`,
      COWRY_KEY_PEPPER: secret(),
    })
    assert.equal(code, 1)
    assert.equal(answer.error.code, 'production', JSON.stringify(answer))
  })
})
