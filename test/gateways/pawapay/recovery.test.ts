import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import { inspect } from 'node:util'
import { money } from '../../../src/core/money.ts'
import type {
  Attempt,
  Gateway,
  Outcome,
  RefundOutcome,
  RefundRequest,
  StartedCheckout,
} from '../../../src/gateways/gateway.ts'
import { createHttpClient } from '../../../src/kit/http/http-client.ts'
import { cleanUp } from '../../support/cleanups.ts'
import {
  ATTEMPT,
  MOBILE_MONEY,
  openOn,
  RETURN_URL,
  type Rig,
  replay,
  replayReply,
  startPawapay,
} from './rig.ts'

describe('a page at pawaPay with a lost URL', () => {
  it('is not found in the first minutes, and opens again under the same key', async (t) => {
    const rig = await startPawapay(t)
    const attempt = rig.makeAttempt()
    const lost = await loseResponse(rig, () => rig.start(attempt))
    assert.equal(reasonOf(lost), 'no_answer')
    rig.clock.move(3.9)
    assert.equal(reasonOf(await rig.gateway.verify(attempt, null)), 'not_found')
    assert.equal((await rig.start(attempt)).kind, 'started')
    assert.equal(rig.provider.pagesOf(attempt.key), 2)
  })

  it('is one of two pages for one deposit: paying on both takes the money once', async (t) => {
    const rig = await startPawapay(t)
    const attempt = rig.makeAttempt()
    await loseResponse(rig, () => rig.start(attempt))
    await rig.start(attempt)
    await rig.provider.finish(attempt.key, { kind: 'pays' })
    await rig.provider.finish(attempt.key, { kind: 'pays' })
    assert.equal(rig.provider.executions(attempt.key), 1)
    assert.equal((await rig.gateway.verify(attempt, null)).kind, 'succeeded')
  })

  it('returns the outcome of the deposit if it was paid in the meantime', async (t) => {
    const rig = await startPawapay(t)
    const attempt = rig.makeAttempt()
    await loseResponse(rig, () => rig.start(attempt))
    await rig.provider.finish(attempt.key, { kind: 'pays' })
    const again = await rig.start(attempt)
    assert.equal(again.kind, 'succeeded', inspect(again))
    assert.equal(rig.provider.executions(attempt.key), 1)
  })

  it('is not opened again if it would outlive the attempt, and needs no manual review', async (t) => {
    const rig = await startPawapay(t)
    const attempt = rig.makeAttempt()
    await loseResponse(rig, () => rig.start(attempt))
    rig.clock.move(4)
    assert.equal(reasonOf(await rig.gateway.verify(attempt, null)), 'no_answer')
    rig.clock.move(15.9)
    assert.equal(reasonOf(await rig.gateway.verify(attempt, null)), 'no_answer')
    rig.clock.move(0.1)
    assertAbandoned(await rig.gateway.verify(attempt, null))
  })

  it('ends as exactly one execution for each of 60 with differently lost responses', async (t) => {
    const rig = await startPawapay(t)
    const faults = [
      'cut_off_after_acting',
      'http_500_after_acting',
      'cut_off',
      'garbage',
      'truncated',
    ] as const
    for (let count = 0; count < 60; count += 1) {
      const attempt = rig.makeAttempt()
      rig.provider.server.injectFault(faults[count % faults.length] ?? 'cut_off')
      assert.equal((await rig.start(attempt)).kind, 'unknown')
      assert.equal((await rig.gateway.verify(attempt, null)).kind, 'unknown')
      rig.provider.server.clearFaults()
      assert.equal(reasonOf(await rig.gateway.verify(attempt, null)), 'not_found')
      assert.equal((await rig.start(attempt)).kind, 'started')
      await rig.provider.finish(attempt.key, { kind: 'pays' })
      assert.equal((await rig.gateway.verify(attempt, attempt.key)).kind, 'succeeded')
      assert.equal(rig.provider.executions(attempt.key), 1)
    }
  })
})

describe('a duplicate at pawaPay whose status check is not sent', () => {
  /** The network fails between the submission and the status check. */
  async function openOneWay(t: TestContext) {
    const { server } = await replayReply(t, { http: 200, body: { status: 'DUPLICATE_IGNORED' } })
    const http = createHttpClient()
    cleanUp(t, () => http.close())
    return openOn(t, server.url, {
      http: {
        ...http,
        request: (request) =>
          http.request(request.method === 'GET' ? { ...request, url: 'http://127.0.0.1:1/' } : request),
      },
    })
  }

  it('is not reported as "not sent": an earlier page request was sent', async (t) => {
    const gateway = await openOneWay(t)
    assert.equal(reasonOf(await gateway.startCheckout(ATTEMPT, MOBILE_MONEY, RETURN_URL)), 'no_answer')
  })

  it('is not reported as "not sent": an earlier refund was sent', async (t) => {
    assert.equal(reasonOf(await refund(await openOneWay(t), RECORDED)), 'no_answer')
  })
})

describe('an unpaid page at pawaPay', () => {
  it('is pending while it can be open, and abandoned afterwards', async (t) => {
    const rig = await startPawapay(t)
    const attempt = rig.makeAttempt()
    const started = await rig.start(attempt)
    assert.ok(started.kind === 'started')
    const checkStatus = () => rig.gateway.verify(attempt, started.gatewayReference)
    assert.equal((await checkStatus()).kind, 'pending')
    rig.clock.move(19.9)
    assert.equal((await checkStatus()).kind, 'pending')
    rig.clock.move(0.1)
    assertAbandoned(await checkStatus())
  })

  it('is not abandoned if the payer paid in the last minute, even if that is reported late', async (t) => {
    const rig = await startPawapay(t)
    const attempt = rig.makeAttempt()
    await rig.start(attempt)
    await rig.provider.finish(attempt.key, { kind: 'waits' })
    rig.clock.move(600)
    assert.equal((await rig.gateway.verify(attempt, attempt.key)).kind, 'pending')
    rig.provider.setDeposit(attempt.key, { status: 'COMPLETED' })
    assert.equal((await rig.gateway.verify(attempt, attempt.key)).kind, 'succeeded')
  })
})

describe('a refund at pawaPay', () => {
  it('sends its amount even if it is the whole amount', async (t) => {
    const rig = await startPawapay(t)
    const request = await payAndRequestRefund(rig)
    await refund(rig.gateway, request)
    const sent = rig.provider.server.requests.at(-1)
    assert.equal(`${sent?.method} ${sent?.path}`, 'POST /v2/refunds')
    assert.equal(
      sent?.text,
      `{"refundId":"${request.key}","depositId":"${request.attemptKey}","amount":"1250.5","currency":"ZMW"}`,
    )
  })

  it('is accepted first, and completed in a status check', async (t) => {
    const accepted = await replay(t, 'refund-accepted')
    const request: RefundRequest = { ...RECORDED, amount: money(1_550n, 'ZMW') }
    const pending = { kind: 'pending', gatewayReference: request.key }
    assert.deepEqual(await refund(accepted.gateway, request), pending)
    const completed = await replay(t, 'refund-completed')
    const succeeded = { kind: 'succeeded', gatewayReference: request.key }
    assert.deepEqual(await verifyRefund(completed.gateway, request), succeeded)
  })

  it('a refund at pawaPay that is sent a second time returns its status', async (t) => {
    const rig = await startPawapay(t)
    const request = await payAndRequestRefund(rig)
    assert.equal((await refund(rig.gateway, request)).kind, 'pending')
    assert.equal((await refund(rig.gateway, request)).kind, 'succeeded')
    assert.deepEqual(rig.provider.refunds?.(request.attemptKey), [125_050n])
  })

  it('waits for the refund in progress: nothing was begun, and the same request succeeds later', async (t) => {
    const recorded = await replay(t, 'refund-in-progress')
    assert.equal(reasonOf(await refund(recorded.gateway, RECORDED)), 'not_found')
    const rig = await startPawapay(t)
    const whole = await payAndRequestRefund(rig)
    const [first, second] = [part(whole, 100_000n), part(whole, 25_050n)]
    rig.provider.setRefundBehavior?.('waits')
    assert.equal((await refund(rig.gateway, first)).kind, 'pending')
    assert.equal((await verifyRefund(rig.gateway, first)).kind, 'pending')
    assert.equal(reasonOf(await refund(rig.gateway, second)), 'not_found')
    assert.equal(reasonOf(await verifyRefund(rig.gateway, second)), 'not_found')
    rig.provider.setRefund(first.key, { status: 'COMPLETED' })
    rig.provider.setRefundBehavior?.('succeeds')
    await refund(rig.gateway, second)
    assert.equal((await verifyRefund(rig.gateway, second)).kind, 'succeeded')
    assert.deepEqual(rig.provider.refunds?.(whole.attemptKey), [100_000n, 25_050n])
  })

  it('a refund at pawaPay that pawaPay rejects fails', async (t) => {
    const rig = await startPawapay(t)
    const request = await payAndRequestRefund(rig)
    const outcome = await refund(rig.gateway, part(request, 125_051n))
    assert.ok(outcome.kind === 'failed', inspect(outcome))
    assert.match(outcome.message, /AMOUNT_OUT_OF_BOUNDS/)
    const unpaid = await refund(rig.gateway, { ...request, attemptKey: randomUUID() })
    assert.equal(unpaid.kind, 'failed')
    assert.deepEqual(rig.provider.refunds?.(request.attemptKey), [])
  })

  it('a refund at pawaPay that is rejected for the token or a rate limit is not failed', async (t) => {
    for (const http of [401, 403, 429]) {
      const { gateway } = await replay(t, 'wrong-token', http)
      assert.equal(reasonOf(await refund(gateway, RECORDED)), 'no_answer')
    }
    const { gateway } = await replay(t, 'page-missing-parameter', 400)
    assert.equal((await refund(gateway, RECORDED)).kind, 'failed')
    const firewall = await replayReply(t, { http: 400, body: '<h1>Bad Request</h1>' })
    assert.equal(reasonOf(await refund(firewall.gateway, RECORDED)), 'unreadable')
  })

  it('is trusted only with our key, our amount and our currency', async (t) => {
    const rig = await startPawapay(t)
    for (const changes of [{ refundId: randomUUID() }, { amount: '1250.51' }, { currency: 'KES' }]) {
      const request = await payAndRequestRefund(rig)
      await refund(rig.gateway, request)
      rig.provider.setRefund(request.key, changes)
      assert.equal(reasonOf(await verifyRefund(rig.gateway, request)), 'unrecognized')
    }
  })

  it('is pending in every intermediate status, and unknown in an unknown one', async (t) => {
    const rig = await startPawapay(t)
    const request = await payAndRequestRefund(rig)
    await refund(rig.gateway, request)
    for (const status of ['ACCEPTED', 'ENQUEUED', 'PROCESSING', 'SUBMITTED', 'IN_RECONCILIATION']) {
      rig.provider.setRefund(request.key, { status })
      assert.equal((await verifyRefund(rig.gateway, request)).kind, 'pending')
    }
    rig.provider.setRefund(request.key, { status: 'DONE' })
    assert.equal(reasonOf(await verifyRefund(rig.gateway, request)), 'unrecognized')
  })
})

const RECORDED: RefundRequest = {
  key: '6f3a4b5c-7d8e-4f90-8b1c-2d3e4f5a6b7c',
  attemptKey: '5e2f3a4b-6c7d-4e8f-9a0b-1c2d3e4f5a6b',
  attemptReference: '5e2f3a4b-6c7d-4e8f-9a0b-1c2d3e4f5a6b',
  amount: money(125_050n, 'ZMW'),
  isFull: true,
}

async function payAndRequestRefund(rig: Rig): Promise<RefundRequest> {
  const attempt: Attempt = rig.makeAttempt()
  await rig.start(attempt)
  await rig.provider.finish(attempt.key, { kind: 'pays' })
  const { key: attemptKey, amount } = attempt
  return { key: randomUUID(), attemptKey, attemptReference: attemptKey, amount, isFull: true }
}

function part(request: RefundRequest, minor: bigint): RefundRequest {
  return { ...request, key: randomUUID(), amount: money(minor, 'ZMW'), isFull: false }
}

async function refund(gateway: Gateway, request: RefundRequest): Promise<RefundOutcome> {
  assert.ok(gateway.refund)
  return gateway.refund(request)
}

async function verifyRefund(gateway: Gateway, request: RefundRequest): Promise<RefundOutcome> {
  assert.ok(gateway.verifyRefund)
  return gateway.verifyRefund(request, null)
}

/** The provider acts, and its response never arrives. */
async function loseResponse<Answer>({ provider }: Rig, checkStatus: () => Promise<Answer>): Promise<Answer> {
  provider.server.injectFault('cut_off_after_acting', { times: 1 })
  return checkStatus()
}

function reasonOf(outcome: StartedCheckout | Outcome | RefundOutcome): string | undefined {
  return outcome.kind === 'unknown' ? outcome.reason : undefined
}

function assertAbandoned(outcome: Outcome): void {
  assert.ok(outcome.kind === 'declined', inspect(outcome))
  assert.equal(outcome.code, 'customer_timeout')
  assert.equal(outcome.refused, undefined)
}
