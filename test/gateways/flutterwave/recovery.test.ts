import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import { money } from '../../../src/core/money.ts'
import { FLUTTERWAVE } from '../../../src/gateways/flutterwave/index.ts'
import type { RefundRequest } from '../../../src/gateways/gateway.ts'
import { systemClock } from '../../../src/kit/clock.ts'
import { createHttpClient } from '../../../src/kit/http/http-client.ts'
import { cleanUp } from '../../support/cleanups.ts'
import type { Fault } from '../fake-server.ts'
import { openMemoryTokens } from '../memory-tokens.ts'
import { callbackUrlAt } from '../webhook-request.ts'
import { readFixture } from './fake.ts'
import {
  altered,
  CREDENTIAL,
  CREDENTIALS,
  errorReply,
  makeAttempt,
  RETURN_URL,
  startFixedServer,
  startFlutterwave,
} from './rig.ts'

/** Flutterwave acts, and its response does not reach us. */
const LOST: readonly Fault[] = ['cut_off_after_acting', 'http_500_after_acting', 'truncated', 'garbage']
const HOUR_MS = 3_600_000

const newCharge = () => makeAttempt({ key: randomUUID(), operation: 'charge', expiresAt: null })

async function startPaid(t: Parameters<typeof startFlutterwave>[0]) {
  const rig = await startFlutterwave(t)
  const attempt = makeAttempt({ key: randomUUID() })
  await rig.gateway.startCheckout(attempt, { channel: 'card' }, RETURN_URL)
  await rig.provider.finish(attempt.key, { kind: 'pays' })
  const paid = await rig.gateway.verify(attempt, null)
  assert.ok(paid.kind === 'succeeded', inspect(paid))
  const request = (minor: bigint): RefundRequest => ({
    key: randomUUID(),
    attemptKey: attempt.key,
    attemptReference: paid.gatewayReference,
    amount: money(minor, 'NGN'),
    isFull: minor === attempt.amount.minor,
  })
  return { ...rig, attempt, request }
}

describe('a charge at Flutterwave with a lost response', () => {
  for (const fault of LOST)
    it(`is found by a status check, and executed once, after ${fault}`, async (t) => {
      const { provider, server, gateway } = await startFlutterwave(t)
      const attempt = newCharge()
      const credential = String(provider.savedCredential('approves'))
      server.injectFault(fault, { times: 1, on: /^POST/ })
      assert.equal((await gateway.chargeSaved(attempt, credential)).kind, 'unknown')
      assert.equal((await gateway.verify(attempt, null)).kind, 'succeeded')
      // A retry without a status check works too: the duplicate error leads to the outcome of the first request.
      assert.equal((await gateway.chargeSaved(attempt, credential)).kind, 'succeeded')
      assert.equal(provider.executions(attempt.key), 1)
    })

  it('is executed once by a hundred concurrent submissions', async (t) => {
    const { provider, server, gateway } = await startFlutterwave(t)
    const credential = String(provider.savedCredential('approves'))
    const attempts = Array.from({ length: 20 }, newCharge)
    server.injectFault('cut_off_after_acting', { times: 50, on: /^POST/ })
    await Promise.all(
      attempts.flatMap((attempt) =>
        Array.from({ length: 5 }, () => gateway.chargeSaved(attempt, credential)),
      ),
    )
    for (const attempt of attempts) {
      assert.equal((await gateway.verify(attempt, null)).kind, 'succeeded')
      assert.equal(provider.executions(attempt.key), 1)
    }
  })

  it('does not fail while Flutterwave has the reference and hides the record', async (t) => {
    const { gateway } = await startFixedServer(t, ({ method }) =>
      method === 'POST'
        ? { http: 400, body: readFixture('charge-duplicate') }
        : errorReply('No transaction was found for this id'),
    )
    const outcome = await gateway.chargeSaved(newCharge(), '{"token":"t","email":"a@example.com"}')
    assert.ok(outcome.kind === 'unknown', inspect(outcome))
    assert.equal(outcome.reason, 'no_answer')
  })

  it('is not reported as "not sent" if the status check of a duplicate is not sent', async (t) => {
    const { server } = await startFixedServer(t, { http: 400, body: readFixture('charge-duplicate') })
    const http = createHttpClient()
    cleanUp(t, () => http.close())
    const gateway = FLUTTERWAVE.open({
      credentials: CREDENTIALS,
      baseUrl: server.url,
      mode: 'test',
      tokens: openMemoryTokens(),
      // The network fails between the two requests.
      http: {
        ...http,
        request: (request) =>
          http.request(request.method === 'GET' ? { ...request, url: 'http://127.0.0.1:1/' } : request),
      },
      clock: systemClock,
      publicUrl: () => 'https://pay.example.com',
      callbackUrl: callbackUrlAt('https://pay.example.com', 'flutterwave'),
    })
    const outcome = await gateway.chargeSaved?.(newCharge(), CREDENTIAL)
    assert.ok(outcome?.kind === 'unknown', inspect(outcome))
    assert.equal(outcome.reason, 'no_answer')
  })

  it('would execute again after the key retention, and not before', async (t) => {
    const { provider, gateway } = await startFlutterwave(t)
    const attempt = newCharge()
    const credential = String(provider.savedCredential('approves'))
    const retentionMs = FLUTTERWAVE.behavior.keyRetentionHours * HOUR_MS
    await gateway.chargeSaved(attempt, credential)
    provider.advance(retentionMs - 1_000)
    await gateway.chargeSaved(attempt, credential)
    assert.equal(provider.executions(attempt.key), 1)
    provider.advance(1_000)
    await gateway.chargeSaved(attempt, credential)
    assert.equal(provider.executions(attempt.key), 2)
  })
})

describe('a checkout at Flutterwave with a lost response', () => {
  it('waits for its payer, and a retry returns the page under the same key', async (t) => {
    const { provider, server, gateway } = await startFlutterwave(t)
    const attempt = makeAttempt({ key: randomUUID() })
    server.injectFault('cut_off_after_acting', { times: 1, on: /^POST/ })
    assert.equal((await gateway.startCheckout(attempt, { channel: 'card' }, RETURN_URL)).kind, 'unknown')
    assert.equal((await gateway.verify(attempt, null)).kind, 'pending')
    assert.equal((await gateway.startCheckout(attempt, { channel: 'card' }, RETURN_URL)).kind, 'started')
    await provider.finish(attempt.key, { kind: 'pays' })
    assert.equal((await gateway.verify(attempt, null)).kind, 'succeeded')
    assert.equal(provider.executions(attempt.key), 1)
  })

  it('is reported as paid to a retry after it was paid', async (t) => {
    const { gateway, attempt } = await startPaid(t)
    assert.equal((await gateway.startCheckout(attempt, { channel: 'card' }, RETURN_URL)).kind, 'succeeded')
  })

  it('is paid even if an earlier try on its page has failed', async (t) => {
    const { provider, gateway } = await startFlutterwave(t)
    const attempt = makeAttempt({ key: randomUUID() })
    await gateway.startCheckout(attempt, { channel: 'card' }, RETURN_URL)
    await provider.finish(attempt.key, { kind: 'declines', how: 'Insufficient Funds' })
    assert.equal((await gateway.verify(attempt, null)).kind, 'declined')
    await provider.finish(attempt.key, { kind: 'pays' })
    assert.equal((await gateway.verify(attempt, null)).kind, 'succeeded')
  })
})

describe('a refund at Flutterwave', () => {
  for (const fault of LOST)
    it(`a refund at Flutterwave with a lost response is found by its comment, and executed once, after ${fault}`, async (t) => {
      const { provider, server, gateway, attempt, request } = await startPaid(t)
      const part = request(40_000n)
      server.injectFault(fault, { times: 1, on: /^POST/ })
      assert.equal((await gateway.refund(part)).kind, 'unknown')
      assert.equal((await gateway.verifyRefund(part, null)).kind, 'succeeded')
      assert.equal((await gateway.refund(part)).kind, 'succeeded')
      assert.deepEqual(await provider.refunds(attempt.key), [40_000n])
    })

  it('a refund at Flutterwave of the same amount under another key is another refund', async (t) => {
    const { provider, gateway, attempt, request } = await startPaid(t)
    for (const part of [request(40_000n), request(40_000n)])
      assert.equal((await gateway.refund(part)).kind, 'succeeded')
    assert.deepEqual(await provider.refunds(attempt.key), [40_000n, 40_000n])
  })

  it('a refund at Flutterwave of more than is left fails', async (t) => {
    const { gateway, request } = await startPaid(t)
    assert.equal((await gateway.refund(request(125_050n))).kind, 'succeeded')
    const outcome = await gateway.refund(request(1n))
    assert.ok(outcome.kind === 'failed', inspect(outcome))
    assert.match(outcome.message, /greater than what is left/)
  })

  it('is not sent while an earlier refund of this amount has no comment', async (t) => {
    const rows = [{ id: 7, status: 'completed', amount_refunded: 400, comment: null }]
    const { server, gateway } = await startFixedServer(t, {
      http: 200,
      body: { status: 'success', data: rows },
    })
    const request = { key: 'k', attemptKey: 'a', attemptReference: '7', isFull: false }
    const outcome = await gateway.refund({ ...request, amount: money(40_000n, 'NGN') })
    assert.ok(outcome.kind === 'unknown', inspect(outcome))
    assert.equal(outcome.reason, 'unrecognized')
    assert.ok(server.requests.every(({ method }) => method === 'GET'))
  })

  it('has the status that Flutterwave reports', async (t) => {
    const states = {
      succeeded: [
        'completed',
        'completed-bank-transfer',
        'completed-momo',
        'completed-mpgs',
        'completed-offline',
      ],
      pending: ['new', 'pending', 'pending-momo', 'processing'],
      failed: ['failed', 'cancelled'],
      unknown: ['made_up', ''],
    }
    for (const [kind, statuses] of Object.entries(states))
      for (const status of statuses) {
        const { gateway } = await startFixedServer(t, altered('refund', { status }))
        const request = { key: 'k', attemptKey: 'a', attemptReference: '7', isFull: true }
        const outcome = await gateway.verifyRefund({ ...request, amount: money(125_050n, 'NGN') }, '75923')
        assert.equal(outcome.kind, kind, status)
      }
  })

  it('is not trusted if its amount differs from the request', async (t) => {
    const request = { key: 'k', attemptKey: 'a', attemptReference: '7', isFull: false }
    const part = { ...request, amount: money(40_000n, 'NGN') }
    for (const amount_refunded of [1250.5, 400.01, 400.001, 4])
      for (const status of ['completed', 'failed']) {
        const row = { id: 7, status, amount_refunded, comment: part.key }
        const { gateway } = await startFixedServer(t, ({ method, query }) => {
          const isList = method === 'GET' && query.has('id')
          return { http: 200, body: { status: 'success', data: isList ? [] : row } }
        })
        const lister = await startFixedServer(t, { http: 200, body: { status: 'success', data: [row] } })
        for (const outcome of [
          await gateway.refund(part),
          await gateway.verifyRefund(part, '7'),
          await lister.gateway.verifyRefund(part, null),
        ]) {
          assert.ok(outcome.kind === 'unknown', inspect(outcome))
          assert.equal(outcome.reason, 'unrecognized')
        }
      }
  })

  it('a refund at Flutterwave that could not be paid out fails, whatever its status', async (t) => {
    for (const meta of [{ disburse_status: 'failed' }, JSON.stringify({ disburse_status: 'Failed' })]) {
      const { gateway } = await startFixedServer(t, altered('refund', { meta }))
      const request = { key: 'k', attemptKey: 'a', attemptReference: '7', isFull: true }
      const outcome = await gateway.verifyRefund({ ...request, amount: money(125_050n, 'NGN') }, '75923')
      assert.equal(outcome.kind, 'failed')
    }
  })
})
