// Reconciles settlement files with the ledger, over the operators' API and by cowry reconcile.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { runCommandLine } from '../../src/cli/program.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { createSigner } from '../../src/kit/crypto.ts'
import { sql } from '../../src/kit/db/db.ts'
import { systemRandom } from '../../src/kit/random.ts'
import { reconcileFile } from '../../src/reconciliation/reconcile.ts'
import { parseUploadedFile } from '../../src/reconciliation/service.ts'
import type { Api } from '../support/api.ts'
import { assertApiError, UNKNOWN_UUID } from '../support/assertions.ts'
import { chargeBody, initiateBody, payWith } from '../support/builders.ts'
import { tempFolder } from '../support/process.ts'
import { ADMIN_TOKEN, testService } from '../support/service.ts'

const service = await testService(
  { after },
  { env: { COWRY_RATE_LIMIT: '0', COWRY_FEES: '{"sandbox":{"KES":{"percent":"2.5","fixed":"0"}}}' } },
)
const { admin, db } = service
const folder = await tempFolder({ after }, 'reconciliation')

const FILES = '/admin/v1/reconciliations'
const BREAKS = '/admin/v1/reconciliation-breaks'
const HEAD = 'type,key,reference,amount,currency,fee,status'

type Changes = Record<string, unknown>

const bodyOf = (lines: string[], changes: Changes = {}) => ({
  gateway: 'sandbox',
  content: Buffer.from([HEAD, ...lines, ''].join('\r\n')).toString('base64'),
  ...changes,
})

async function send(lines: string[], changes: Changes = {}) {
  const answer = await admin.post(FILES, bodyOf(lines, changes))
  assert.equal(answer.http, 201, answer.text)
  return answer.body.data
}

async function breaksOf(query: string) {
  const answer = await admin.get(`${BREAKS}?${query}`)
  assert.equal(answer.http, 200, answer.text)
  return answer.body.data
}

// As if an account of the instance at another gateway had collected it.
const moveToGateway = sql<unknown>`update attempts set gateway = 'paystack' where gateway_key = $1`

const selectAttempt = sql<{ key: string; reference: string }>`
select gateway_key as key, gateway_reference as reference
from attempts
where payment_id = $1`

async function namesOf(paymentUuid: string) {
  const [names] = await db.query(selectAttempt, [paymentUuid])
  return names ?? assert.fail('it has an attempt')
}

/** A paid payment of KES 1,250.50, and its identifiers at the gateway. */
async function paid(api: Api) {
  const payment = await payWith(api, 'card_success')
  return { ...payment, ...(await namesOf(payment.uuid)) }
}

const balanceOf = async (api: Api) => {
  const { data } = (await api.get('/api/v1/wallet/balance?currency=KES')).body
  return `${data.availableBalance} available, ${data.pendingBalance} pending`
}

const lineOf = (key: string, amount = '1250.50', fee = '') => `payment,${key},,${amount},KES,${fee},settled`

describe('the operators’ reconciliation', () => {
  it('requires the operator’s token for reconciliation', async () => {
    const { api } = await service.newMerchant()
    for (const path of [FILES, BREAKS, `${FILES}/${UNKNOWN_UUID}`, `${BREAKS}/${UNKNOWN_UUID}`]) {
      assertApiError(await service.apiWith(undefined).get(path), 'invalid_admin_token')
      assertApiError(await api.get(path), 'invalid_admin_token')
    }
    assertApiError(await api.post(FILES, bodyOf([])), 'invalid_admin_token')
    assertApiError(await admin.get(`${FILES}/${UNKNOWN_UUID}`), 'reconciliation_not_found')
    assertApiError(await admin.get(`${BREAKS}/${UNKNOWN_UUID}`), 'reconciliation_break_not_found')
    for (const [verb, body] of [
      ['close', { note: 'x' }],
      ['assign', { owner: 'x' }],
    ] as const)
      assertApiError(
        await admin.post(`${BREAKS}/${UNKNOWN_UUID}/${verb}`, body),
        'reconciliation_break_not_found',
      )
  })

  it('makes matched payments available at once, and a repeated file changes nothing', async () => {
    const { api } = await service.newMerchant()
    const [one, two] = [await paid(api), await paid(api)]
    assert.equal(await balanceOf(api), '0.00 available, 2438.48 pending')
    const lines = [lineOf(one.key, '1250.50', '31.26'), `payment,,${two.reference},1250.5,KES,,settled`]
    const first = await send(lines, { fileName: 'monday.csv' })
    assert.deepEqual(
      [first.status, first.rows, first.matched, first.settled, first.breaks, first.fileName],
      ['finished', 2, 2, 2, 0, 'monday.csv'],
    )
    assert.equal(await balanceOf(api), '2438.48 available, 0.00 pending')
    const again = await Promise.all([send(lines), send(lines), send(lines)])
    for (const { finishedAt: _, ...record } of again) {
      const { finishedAt: __, ...wanted } = first
      assert.deepEqual(record, wanted)
    }
    assert.equal(await balanceOf(api), '2438.48 available, 0.00 pending')
    assert.deepEqual((await admin.get(`${FILES}/${first.uuid}`)).body.data.uuid, first.uuid)
    const { data, meta } = (await admin.get(`${FILES}?gateway=sandbox&limit=1`)).body
    assert.deepEqual([data.length, meta.total >= 1], [1, true])
  })

  it('settles each payment once when parallel files contain it', async () => {
    const { api } = await service.newMerchant()
    const { key } = await paid(api)
    const files = await Promise.all(
      Array.from({ length: 6 }, (_, n) =>
        send([lineOf(key)], { content: bodyOf([lineOf(key), `payout,${n},,1,KES,,`]).content }),
      ),
    )
    assert.equal(
      files.reduce((sum, { settled }) => sum + settled, 0),
      1,
    )
    assert.equal(await balanceOf(api), '1219.24 available, 0.00 pending')
  })

  it('lists every break with its kind, and does not settle differing payments', async () => {
    const { api } = await service.newMerchant()
    const [less, foreign, costly, twice] = [
      await paid(api),
      await paid(api),
      await paid(api),
      await paid(api),
    ]
    const token = (await payWith(api, 'card_declined_later')).paymentMethod.recurringToken
    const declined = (await api.post('/api/v1/charges/recurring', chargeBody(token))).body.data
    const { key: declinedKey } = await namesOf(declined.uuid)
    const file = await send([
      lineOf(less.key, '1250.49'),
      `payment,${foreign.key},,1250.50,NGN,,settled`,
      lineOf(costly.key, '1250.50', '99.00'),
      lineOf(twice.key),
      lineOf(twice.key),
      lineOf(declinedKey, '100'),
      'payment,never-heard-of,,7.00,KES,,settled',
      'payment,never-heard-of-either,,7.00,KES,,failed',
    ])
    assert.deepEqual([file.rows, file.matched, file.settled, file.breaks], [8, 2, 2, 6])
    const breaks = await breaksOf(`reconciliation=${file.uuid}&limit=100`)
    const shown = breaks.map(({ kind, line, state, ageDays }: Record<string, unknown>) =>
      [line, kind, state, ageDays].join(' '),
    )
    assert.deepEqual(shown.sort(), [
      '2 amount_mismatch open 0',
      '3 currency_mismatch open 0',
      '4 fee_mismatch open 0',
      '6 duplicate_row open 0',
      '7 status_mismatch open 0',
      '8 missing_in_ledger open 0',
    ])
    const wrong = breaks.find(({ kind }: { kind: string }) => kind === 'amount_mismatch')
    assert.deepEqual([wrong.ours.amount, wrong.theirs.amount], ['1250.50', '1250.49'])
    assert.equal(wrong.paymentUuid, less.uuid)
    const missing = breaks.find(({ kind }: { kind: string }) => kind === 'missing_in_ledger')
    assert.deepEqual([missing.ours, missing.paymentUuid, missing.theirs.key], [null, null, 'never-heard-of'])
  })

  it('reports a payment on many lines once', async () => {
    const { api } = await service.newMerchant()
    const { key } = await paid(api)
    const unknownLine = 'payment,on-four-lines,,1.00,KES,,settled'
    const lines = [
      ...Array.from({ length: 3 }, () => lineOf(key)),
      ...Array.from({ length: 4 }, () => unknownLine),
    ]
    const file = await send(lines)
    assert.deepEqual([file.rows, file.matched, file.settled, file.breaks], [7, 1, 1, 3])
    const shown = (await breaksOf(`reconciliation=${file.uuid}`)).map(
      ({ kind, line }: Record<string, unknown>) => `${line} ${kind}`,
    )
    assert.deepEqual(shown.sort(), ['3 duplicate_row', '5 missing_in_ledger', '6 duplicate_row'])
    assert.deepEqual((await send(lines)).breaks, 3)
  })

  it('treats a negative payment as no proof, and still applies the lines beside it', async () => {
    const { api } = await service.newMerchant()
    const [one, two] = [await paid(api), await paid(api)]
    const kindsOf = async (uuid: string) =>
      (await breaksOf(`reconciliation=${uuid}`)).map(({ kind }: { kind: string }) => kind)
    const taken = await send([lineOf(one.key, '-1250.50'), lineOf(two.key, '0.00')])
    assert.deepEqual([taken.matched, taken.settled], [0, 0])
    assert.deepEqual(await kindsOf(taken.uuid), ['negative_payment', 'negative_payment'])
    const csv = `Reference,Amount,Currency,Status\r\n${one.key},-1250.50,KES,success\r\n`
    const content = Buffer.from(csv).toString('base64')
    assert.equal((await send([], { format: 'paystack', content })).settled, 0)
    assert.equal(await balanceOf(api), '0.00 available, 2438.48 pending')
    const both = await send([lineOf(one.key, '-1250.50'), lineOf(one.key)])
    assert.deepEqual([both.settled, both.breaks, await kindsOf(both.uuid)], [1, 1, ['negative_payment']])
  })

  it('settles no payment by a line whose key and reference name two payments', async () => {
    const [{ api }, other] = [await service.newMerchant(), await service.newMerchant()]
    const [ours, theirs] = [await paid(api), await paid(other.api)]
    const file = await send([
      `payment,${ours.key},${theirs.reference},1250.50,KES,,settled`,
      `payment,made-up,${theirs.reference},1250.50,KES,,settled`,
    ])
    assert.deepEqual([file.matched, file.settled, file.breaks], [0, 0, 2])
    const breaks = await breaksOf(`reconciliation=${file.uuid}&kind=reference_mismatch`)
    assert.equal(breaks.length, 2)
    const pending = '0.00 available, 1219.24 pending'
    assert.deepEqual([await balanceOf(api), await balanceOf(other.api)], [pending, pending])
    const right = await send([
      `payment,${ours.key},${ours.reference},1250.50,KES,,settled`,
      `payment,${theirs.key},as-their-file-has-it,1250.50,KES,,settled`,
    ])
    assert.deepEqual([right.settled, right.breaks], [2, 0])
  })

  it('closes a break when a later file agrees, and reopens it when another does not', async () => {
    const { api } = await service.newMerchant()
    const { key } = await paid(api)
    const wrong = await send([lineOf(key, '1.00')])
    const [open] = await breaksOf(`reconciliation=${wrong.uuid}`)
    assert.equal(await balanceOf(api), '0.00 available, 1219.24 pending')
    await send([lineOf(key)], { fileName: 'corrected.csv' })
    const closed = (await admin.get(`${BREAKS}/${open.uuid}`)).body.data
    assert.deepEqual([closed.state, closed.closedBy], ['closed', 'file'])
    assert.equal(await balanceOf(api), '1219.24 available, 0.00 pending')
    await send([lineOf(key, '2.00')])
    const reopened = (await admin.get(`${BREAKS}/${open.uuid}`)).body.data
    assert.deepEqual([reopened.state, reopened.theirs.amount, reopened.closedAt], ['open', '2.00', null])
  })

  it('keeps a break closed that an operator closed with a note, while both sides stay the same', async () => {
    const name = `unknown-${UNKNOWN_UUID}`
    const line = `payment,${name},,7.00,KES,,settled`
    const { uuid } = await send([line])
    const [open] = await breaksOf(`reconciliation=${uuid}`)
    const path = `${BREAKS}/${open.uuid}`
    assertApiError(await admin.post(`${path}/close`, {}), 'validation_failed')
    const assigned = (await admin.post(`${path}/assign`, { owner: 'finance', note: 'asked them' })).body.data
    assert.deepEqual([assigned.owner, assigned.note, assigned.state], ['finance', 'asked them', 'open'])
    const closed = (await admin.post(`${path}/close`, { note: 'A test of the provider' })).body.data
    assert.deepEqual(
      [closed.state, closed.closedBy, closed.note],
      ['closed', 'operator', 'A test of the provider'],
    )
    assert.deepEqual((await admin.post(`${path}/close`, { note: 'again' })).body.data, closed)
    await send([line])
    assert.equal((await admin.get(path)).body.data.state, 'closed')
    await send([line.replace('7.00', '8.00')])
    assert.equal((await admin.get(path)).body.data.state, 'open')
    assert.equal((await breaksOf(`state=closed&kind=missing_in_ledger&limit=100`)).length, 0)
  })

  it('reports payments missing from the period of a file, and closes them when they arrive', async () => {
    const { api } = await service.newMerchant()
    const early = new Date()
    const [coveredPayment, leftOut] = [await paid(api), await paid(api)]
    const period = { coversFrom: early.toISOString(), coversTo: new Date(Date.now() + 1_000).toISOString() }
    const { uuid, breaks } = await send([lineOf(coveredPayment.key)], period)
    assert.equal(breaks, 1)
    const [missing] = await breaksOf(`reconciliation=${uuid}`)
    assert.deepEqual(
      [missing.kind, missing.paymentUuid, missing.theirs, missing.line],
      ['missing_in_file', leftOut.uuid, null, null],
    )
    await send([lineOf(leftOut.key)])
    assert.equal((await admin.get(`${BREAKS}/${missing.uuid}`)).body.data.state, 'closed')
    const half = await admin.post(
      FILES,
      bodyOf([lineOf(coveredPayment.key)], { coversFrom: period.coversFrom }),
    )
    assert.deepEqual(assertApiError(half, 'validation_failed'), ['coversTo: invalid_format'])
    const backwards = { coversFrom: period.coversTo, coversTo: period.coversFrom }
    assertApiError(
      await admin.post(FILES, bodyOf([lineOf(coveredPayment.key)], backwards)),
      'validation_failed',
    )
  })

  it('reconciles refunds too', async () => {
    const { api } = await service.newMerchant()
    const { uuid } = await paid(api)
    const refund = await api.post('/api/v1/refunds', { uuid, refundReference: 'half', amount: 50 })
    assert.equal(refund.body.data?.status, 'successful', refund.text)
    const select = sql<{ key: string }>`select gateway_key as key from refunds where id = $1`
    const [{ key } = assert.fail('it is there')] = await db.query(select, [refund.body.data.uuid])
    const right = await send([`refund,${key},,-50.00,KES,,settled`])
    assert.deepEqual([right.matched, right.breaks], [1, 0])
    const wrong = await send([`refund,${key},,51.00,KES,,settled`, 'refund,unknown,,1.00,KES,,settled'])
    const breaks = await breaksOf(`reconciliation=${wrong.uuid}`)
    assert.deepEqual(breaks.map(({ kind }: { kind: string }) => kind).sort(), [
      'amount_mismatch',
      'missing_in_ledger',
    ])
    assert.equal(
      breaks.find(({ kind }: { kind: string }) => kind === 'amount_mismatch').refundUuid,
      refund.body.data.uuid,
    )
  })

  it('ignores payments of another account', async () => {
    const { api, uuid } = await service.newMerchant()
    const { key } = await paid(api)
    await service.db.query(moveToGateway, [key])
    const own = await send([lineOf(key)], { gateway: 'paystack', merchant: uuid })
    assert.deepEqual([own.matched, own.breaks, own.merchantUuid], [0, 1, uuid])
    assert.equal(await balanceOf(api), '0.00 available, 1219.24 pending')
    assertApiError(await admin.post(FILES, bodyOf([], { merchant: UNKNOWN_UUID })), 'merchant_not_found')
    assertApiError(await admin.post(FILES, bodyOf([], { gateway: 'nobody' })), 'gateway_not_found')
  })

  it('rejects an invalid file, names its lines, and stores nothing', async () => {
    const count = sql<{ rows: number }>`
      select ((select count(*) from reconciliations) + (select count(*) from reconciliation_breaks))::integer as rows`
    const before = await db.query(count)
    const raw = (bytes: Buffer | string) =>
      admin.post(FILES, { gateway: 'sandbox', content: Buffer.from(bytes).toString('base64') })
    for (const [bytes, expectedMessage] of [
      ['key,amount,currency\nk,1\n', 'Line 2: The line has 2 cells, the header 3.'],
      ['key,amount,currency\nk,"1,KES\n', 'Line 2: A quoted cell has no end.'],
      ['key,amount,currency\nk,0.1e1,KES\n', 'Line 2: The amount "0.1e1" is not an exact amount.'],
      ['key,amount\nk,1\n', 'Line 1: The neutral format requires a column currency.'],
      [Buffer.from([0xff, 0xfe, 0x6b, 0x00]), 'The file is not in UTF-8.'],
      ['=cmd()|x,amount,currency\n', 'Line 1: No column names the payments.'],
    ] as const) {
      const answer = await raw(bytes)
      assert.deepEqual(assertApiError(answer, 'validation_failed'), ['content: invalid_format'])
      assert.equal(answer.body.error.details[0].message, expectedMessage)
    }
    assertApiError(await admin.post(FILES, { gateway: 'sandbox', content: '***' }), 'validation_failed')
    assertApiError(await admin.post(FILES, bodyOf([], { format: 'excel' })), 'validation_failed')
    const huge = 'A'.repeat(9 * 1024 * 1024)
    assertApiError(await admin.post(FILES, { gateway: 'sandbox', content: huge }), 'payload_too_large')
    assert.deepEqual(await db.query(count), before)
  })

  it('resumes a file after a crash in the middle', async () => {
    const { api } = await service.newMerchant()
    const [first, last] = [await paid(api), await paid(api)]
    const unknownLines = Array.from({ length: 600 }, (_, n) => `payment,stranger-${n},,1,KES,,`)
    const lines = [lineOf(first.key), ...unknownLines, lineOf(last.key)]
    let batches = 0
    const crashingApp = {
      db,
      instanceDb: db,
      clock: systemClock,
      random: systemRandom(systemClock),
      cursors: createSigner(Buffer.alloc(32)),
      mode: 'test' as const,
      gatewayNames: ['sandbox'],
      findRefunds: async () => {
        batches += 1
        if (batches > 1) throw new Error('died')
        return []
      },
    }
    const file = await parseUploadedFile(crashingApp, bodyOf(lines))
    await assert.rejects(reconcileFile(crashingApp, file), /died/)
    assert.equal(await balanceOf(api), '1219.24 available, 1219.24 pending')
    const unfinished = (await admin.get(`${FILES}?limit=1`)).body.data[0]
    assert.deepEqual([unfinished.status, unfinished.settled], ['unfinished', 1])
    const done = await send(lines)
    assert.deepEqual(
      [done.uuid, done.status, done.settled, done.breaks],
      [unfinished.uuid, 'finished', 2, unknownLines.length],
    )
    assert.equal(await balanceOf(api), '2438.48 available, 0.00 pending')
  })

  it('accepts a file of many lines with hostile names', async () => {
    const lines = Array.from({ length: 3_000 }, (_, n) => `payment,"'; drop table payments; --${n}",,1,KES,,`)
    const { breaks } = await send(lines)
    assert.equal(breaks, 3_000)
  })
})

async function run(...argv: string[]) {
  let out = ''
  const terminal = {
    out: (text: string) => {
      out += text
    },
    err: (text: string) => {
      out += text
    },
  }
  const env = { COWRY_URL: service.url, COWRY_ADMIN_TOKEN: ADMIN_TOKEN }
  const code = await runCommandLine(['reconcile', ...argv], { terminal, env })
  return { code, out }
}

describe('cowry reconcile', () => {
  it('previews, reconciles, lists, assigns and closes on the command line', async () => {
    const { api } = await service.newMerchant()
    const { key } = await paid(api)
    const open = (await api.post('/api/v1/checkout/initiate-payment', initiateBody())).body.data
    const file = join(folder, 'settlement.csv')
    await writeFile(file, `\uFEFF${HEAD}\r\n${lineOf(key)}\r\n${lineOf(open.reference)}\r\n`)
    const given = ['--gateway', 'sandbox', '--file', file]

    const looked = await run(...given, '--dry-run')
    assert.equal(looked.code, 0, looked.out)
    assert.match(looked.out, /Nothing was changed/)
    assert.match(looked.out, /line 3\s+missing_in_ledger\s+payment ref-/)
    assert.equal(await balanceOf(api), '0.00 available, 1219.24 pending')

    const done = JSON.parse((await run(...given, '--json')).out)
    assert.deepEqual([done.data.settled, done.data.breaks], [1, 1])
    assert.equal(await balanceOf(api), '1219.24 available, 0.00 pending')

    const listed = JSON.parse((await run('breaks', '--reconciliation', done.data.uuid, '--json')).out)
    const { uuid } = listed.data[0]
    const table = await run('breaks', '--gateway', 'sandbox', '--limit', '100')
    assert.match(table.out, /BREAK\s+KIND\s+ABOUT\s+OURS\s+THEIRS\s+AGE\s+STATE\s+OWNER/)
    assert.match((await run('assign', uuid, '--owner', 'finance')).out, /finance/)
    const closed = await run('close', uuid, '--note', 'Paid by hand')
    assert.equal(closed.code, 0, closed.out)
    assert.match(closed.out, /Paid by hand/)
    assert.match((await run('breaks', '--state', 'closed', '--limit', '100')).out, new RegExp(uuid))
  })

  it('reports what is wrong with a reconcile command or its file', async () => {
    assert.match((await run('--gateway', 'sandbox')).out, /Specify the gateway and the file/)
    assert.match((await run('--gateway', 'sandbox', '--file', join(folder, 'none'))).out, /cannot be read/)
    const file = join(folder, 'broken.csv')
    await writeFile(file, 'key,amount,currency\nk,1\n')
    const broken = await run('--gateway', 'sandbox', '--file', file)
    assert.equal(broken.code, 1)
    assert.match(broken.out, /Line 2: The line has 2 cells/)
  })
})
