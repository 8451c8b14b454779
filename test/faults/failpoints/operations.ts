// The operations that fail at failpoints: each has a request that can be retried, a function that reads the records of
// both sides, and an assertion that it completed exactly once.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { sign } from '../../../src/gateways/sandbox/webhooks.ts'
import { type Statement, sql } from '../../../src/kit/db/db.ts'
import { sandboxWebhookSecretOf } from '../../../src/secrets/secrets.ts'

import type { Api, ApiResponse } from '../../support/api.ts'
import { chargeBody, initiateBody, payWith } from '../../support/builders.ts'
import { CHARGED_ONCE, SANDBOX_SECRET } from '../../support/deployment.ts'
import { linkBody } from '../../support/links.ts'
import { ACCOUNTS, BANK, dataOf, PAYMENTS, p2pActions, p2pBody } from '../../support/p2p.ts'
import { eventsOf, postingsOf } from '../../support/payment-records.ts'
import { eventually } from '../../support/process.ts'
import type { Harness } from './harness.ts'

export interface Case {
  /** Sends the same request every time. */
  send(api: Api): Promise<ApiResponse>
  /** The current records of both sides. */
  readState(): Promise<string>
  /** The client's retry after it got no response. */
  retry(): Promise<unknown>
  /** Waits for the end, and asserts that the operation completed correctly and once. */
  assertCompleted(): Promise<void>
}

export type Operation = (harness: Harness) => Promise<Case>

// The processors are shared with every other test.
const TIMEOUT_MS = 60_000

/** Retries until it succeeds: a request for a record in progress gets a retryable error. */
async function sendUntilServed(send: () => Promise<ApiResponse>): Promise<ApiResponse> {
  const answer = await eventually(send, ({ http }) => http !== 503, TIMEOUT_MS)
  assert.ok(answer.http < 400, answer.text)
  return answer
}

/** A payment in the records of both sides. */
async function readPaymentState({ deployment }: Harness, reference: string): Promise<string> {
  const id = await deployment.idOf(reference)
  if (id === undefined) return 'nothing'
  const { status, executions } = await deployment.snapshotOf(id)
  return `${status}, ${executions} executed`
}

async function getPaymentId({ deployment }: Harness, reference: string): Promise<string> {
  const id = await deployment.idOf(reference)
  assert.ok(id, 'the payment was stored')
  return id
}

export const charge: Operation = async (harness) => {
  const body = chargeBody(harness.token)
  const send = (api: Api) => api.post('/api/v1/charges/recurring', body)
  return {
    send,
    readState: () => readPaymentState(harness, body.reference),
    retry: () => sendUntilServed(() => send(harness.healthy.api)),
    async assertCompleted() {
      const id = await getPaymentId(harness, body.reference)
      assert.deepEqual(await harness.deployment.awaitFinal(id, TIMEOUT_MS), CHARGED_ONCE)
      const retried = await sendUntilServed(() => send(harness.healthy.api))
      assert.deepEqual([retried.http, retried.body.data.uuid], [201, id])
      assert.equal(retried.headers.get('idempotent-replayed'), 'true')
    },
  }
}

export const initiate: Operation = async (harness) => {
  const body = initiateBody()
  const send = (api: Api) => api.post('/api/v1/checkout/initiate-payment', body)
  return {
    send,
    readState: () => readPaymentState(harness, body.reference),
    retry: () => sendUntilServed(() => send(harness.healthy.api)),
    async assertCompleted() {
      const id = await getPaymentId(harness, body.reference)
      const retried = await sendUntilServed(() => send(harness.healthy.api))
      assert.equal(retried.body.data.uuid, id)
      assert.deepEqual((await harness.deployment.snapshotOf(id)).events, ['payment.pending'])
    },
  }
}

const PAID_ONCE = {
  ...CHARGED_ONCE,
  events: ['payment.pending', 'payment.processing', 'payment.successful'],
}

/** Waits until the payer can act, acts as the payer, and asserts that the checkout is paid. */
async function payAndAssert({ deployment }: Harness, id: string): Promise<void> {
  const { status } = await eventually(
    () => deployment.snapshotOf(id),
    ({ status, attempts }) => status === 'successful' || attempts[0] === 'awaiting_customer',
    TIMEOUT_MS,
  )
  if (status !== 'successful')
    await deployment.sandbox.completeAsPayer(await deployment.keyOf(id), 'card_success')
  await deployment.endLease(id)
  assert.deepEqual(await deployment.awaitFinal(id, TIMEOUT_MS), PAID_ONCE)
}

/** A checkout and its payer. */
async function inCheckout(
  harness: Harness,
  act: (api: Api, url: string, reference: string) => Promise<ApiResponse>,
) {
  const body = initiateBody()
  const { data } = (await harness.healthy.api.post('/api/v1/checkout/initiate-payment', body)).body
  const path = new URL(data.checkoutUrl).pathname
  const send = (api: Api) => act(api, path, body.reference)
  return {
    send,
    readState: () => readPaymentState(harness, body.reference),
    async retry() {
      const { status } = await harness.deployment.snapshotOf(data.uuid)
      if (status === 'pending') await sendUntilServed(() => send(harness.healthy.api))
    },
    assertCompleted: () => payAndAssert(harness, data.uuid),
  }
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

export const pressPay: Operation = (harness) =>
  inCheckout(harness, (api, path) => api.postText(`${path}/attempts`, 'channel=card', FORM))

export const complete: Operation = (harness) =>
  inCheckout(harness, (api, _path, reference) =>
    api.post(`/api/v1/sandbox/payments/${reference}/complete`, { instrument: 'card_success' }),
  )

const selectRefunds = sql<{ status: string; entries: number; events: string[] }>`
select
  r.status,
  (select count(*)::integer from ledger_entries e where e.refund_id = r.id) as entries,
  (select json_agg(v.type order by v.version) from events v where v.resource_id = r.id) as events
from refunds r
where r.payment_id = $1`

export const refund: Operation = async (harness) => {
  const { deployment, healthy } = harness
  const { uuid } = await payWith(healthy.api, 'card_success')
  const send = (api: Api) =>
    api.post('/api/v1/refunds', { uuid, amount: 100 }, { 'idempotency-key': `refund-${uuid}` })
  const rows = () => deployment.db.query(selectRefunds, [uuid])
  const countGiven = async () => {
    // A boundary: an execution in the form of the provider's API.
    const executions = (await deployment.sandbox.executions(uuid)) as { kind: string }[]
    return executions.filter(({ kind }) => kind === 'refund').length
  }
  return {
    send,
    async readState() {
      const [row] = await rows()
      return row ? `${row.status}, ${await countGiven()} given` : 'nothing'
    },
    retry: () => sendUntilServed(() => send(healthy.api)),
    async assertCompleted() {
      const refunds = await eventually(
        rows,
        (found) => found.length > 0 && found.every(({ status }) => status !== 'pending'),
        TIMEOUT_MS,
      )
      const events = ['refund.pending', 'refund.successful']
      assert.deepEqual(refunds, [{ status: 'successful', entries: 1, events }])
      assert.equal(await countGiven(), 1)
      assert.equal((await deployment.snapshotOf(uuid)).status, 'partially_refunded')
    },
  }
}

/** Requests a payment directly to the merchant. */
export const transfer: Operation = async (harness) => {
  const body = p2pBody()
  const send = (api: Api) => api.post(PAYMENTS, body)
  const { confirm } = p2pActions(harness.healthy.api)
  return {
    send,
    readState: () => readPaymentState(harness, body.reference),
    retry: () => sendUntilServed(() => send(harness.healthy.api)),
    async assertCompleted() {
      const { body: answered } = await eventually(
        () => send(harness.healthy.api),
        (answer) => answer.body.data?.instructions != null,
        TIMEOUT_MS,
      )
      const { uuid } = answered.data
      const confirmed = await dataOf(confirm(uuid, 5000))
      assert.deepEqual([confirmed.status, confirmed.attempts.length], ['successful', 1])
      const emitted = (await eventsOf(harness.deployment.db, uuid)).map(({ type }) => type)
      assert.equal(emitted.filter((type) => type === 'p2p.awaiting_payment').length, 1)
    },
  }
}

/** The merchant confirms, rejects or cancels a transfer. */
function transferAction(
  verb: string,
  body: object,
  end: { transfer: string; status: string; postings: number },
): Operation {
  return async ({ deployment, healthy }) => {
    const { requestTransfer, act, read } = p2pActions(healthy.api)
    const { uuid } = await requestTransfer()
    if (verb === 'reject') await dataOf(act(uuid, 'mark-paid'))
    const send = (api: Api) =>
      api.post(`${PAYMENTS}/${uuid}/${verb}`, body, { 'idempotency-key': `${verb}-${uuid}` })
    return {
      send,
      async readState() {
        const { transferStatus, status } = await read(uuid)
        return `${transferStatus}, ${status}`
      },
      retry: () => sendUntilServed(() => send(healthy.api)),
      async assertCompleted() {
        const seen = await eventually(
          () => read(uuid),
          ({ status }) => status === end.status,
          TIMEOUT_MS,
        )
        assert.equal(seen.transferStatus, end.transfer)
        assert.equal((await postingsOf(deployment.db, uuid)).length, end.postings)
      },
    }
  }
}

export const confirm = transferAction(
  'confirm',
  { receivedAmount: 5000 },
  { transfer: 'confirmed', status: 'successful', postings: 2 },
)
export const reject = transferAction('reject', {}, { transfer: 'rejected', status: 'failed', postings: 0 })
export const cancel = transferAction('cancel', {}, { transfer: 'cancelled', status: 'failed', postings: 0 })

/** A record that one transaction creates, under an Idempotency-Key; identified by its name. */
function createRecordOperation(
  path: string,
  bodyOf: (name: string) => object,
  count: Statement<{ count: number }>,
): Operation {
  return async ({ deployment, healthy }) => {
    const name = `N ${randomUUID()}`
    const send = (api: Api) => api.post(path, bodyOf(name), { 'idempotency-key': name })
    const readState = async () => {
      const [row] = await deployment.db.query(count, [name])
      return `${row?.count ?? 0} made`
    }
    return {
      send,
      readState,
      retry: () => sendUntilServed(() => send(healthy.api)),
      async assertCompleted() {
        const retried = await sendUntilServed(() => send(healthy.api))
        assert.equal(retried.headers.get('idempotent-replayed'), 'true')
        assert.equal(await readState(), '1 made')
      },
    }
  }
}

export const link = createRecordOperation(
  '/api/v1/payment-links',
  (title) => linkBody({ title }),
  sql<{ count: number }>`select count(*)::integer from payment_links where title = $1`,
)

export const account = createRecordOperation(
  ACCOUNTS,
  (accountName) => ({ ...BANK, accountName }),
  sql<{ count: number }>`select count(*)::integer from p2p_accounts where account_name = $1`,
)

const postpone = sql<{ key: string }>`
update attempts
set due_at = now() + interval '1 hour'
where payment_id = $1
returning gateway_key as key`

/** The provider sends a webhook about a payment whose next poll is in an hour. */
export const webhook: Operation = async (harness) => {
  const { deployment, healthy } = harness
  const body = initiateBody()
  const { data } = (await healthy.api.post('/api/v1/checkout/initiate-payment', body)).body
  const path = new URL(data.checkoutUrl).pathname
  assert.equal((await healthy.api.postText(`${path}/attempts`, 'channel=card', FORM)).http, 303)
  const [attempt] = await deployment.db.query(postpone, [data.uuid])
  assert.ok(attempt)
  await deployment.sandbox.completeAsPayer(attempt.key, 'card_success')
  const createdAt = new Date()
  const about = { id: randomUUID(), type: 'checkout.succeeded', key: attempt.key, order: 'x', createdAt }
  const text = JSON.stringify(about)
  const signature = sign(sandboxWebhookSecretOf(SANDBOX_SECRET), createdAt, text)
  const send = (api: Api) => api.postText('/hooks/sandbox', text, { 'cowry-sandbox-signature': signature })
  return {
    send,
    readState: () => readPaymentState(harness, body.reference),
    retry: () => sendUntilServed(() => send(healthy.api)),
    assertCompleted: async () =>
      assert.deepEqual(await deployment.awaitFinal(data.uuid, TIMEOUT_MS), PAID_ONCE),
  }
}
