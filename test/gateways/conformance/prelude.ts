// The access token that a call needs: without one nothing is submitted, and the outcome says so.

import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Gateway, Outcome, RefundOutcome, StartedCheckout } from '../../../src/gateways/gateway.ts'
import type { Fault } from '../fake-server.ts'
import { charge, prepareCharge } from './charge.ts'
import { AMBIGUOUS_FAULTS, assertRejected, assertUnknown, withFailureContext } from './faults.ts'
import { prepareRefund, refund } from './refund.ts'
import { CONCURRENCY, type Rig, startRig } from './rig.ts'
import type { Subject, TokenOperation } from './subject.ts'

type Prelude = NonNullable<Subject['prelude']>
type Answer = StartedCheckout | Outcome | RefundOutcome | undefined

interface Operation {
  rig: Rig
  name: TokenOperation
  act(gateway: Gateway): Promise<Answer>
}

const FAULTS: readonly { kind: Fault; title: string }[] = [
  ...AMBIGUOUS_FAULTS,
  { kind: 'http_429', title: 'the provider reports a rate limit' },
]

// Half of it is for the token, and every hang takes that long.
const SHORT_TIMEOUT_MS = 800

// Less than the life of a token, and long enough that a ration of two grants an hour allows a new one each time.
const TOKEN_AGE_MS = 31 * 60_000

export function testPrelude(subject: Subject, prelude: Prelude): void {
  describe('an access token', { concurrency: CONCURRENCY }, () => {
    for (const { kind, title } of FAULTS)
      it(`is not had if ${title}, and then no operation is sent`, async (t) => {
        for (const { rig, name, act } of await prepareOperations(t, subject))
          await withFailureContext(name, async () => {
            const gateway = rig.open({ hasNoToken: true, timeoutMs: SHORT_TIMEOUT_MS })
            rig.provider.server.injectFault(kind, { on: anyMethod(prelude) })
            const { answer, submitted } = await watch(rig, prelude, () => act(gateway))
            rig.provider.server.clearFaults()
            assert.ok(answer)
            assertUnknown(answer, ['not_sent'])
            assert.deepEqual(submitted, [])
          })
      })

    it('is refused with credentials that the provider does not know, and nothing is submitted', async (t) => {
      for (const { rig, name, act } of await prepareOperations(t, subject))
        await withFailureContext(name, async () => {
          const gateway = rig.open({ credentials: subject.otherCredentials })
          const { answer, submitted } = await watch(rig, prelude, () => act(gateway))
          assert.deepEqual(submitted, [])
          assert.ok(answer)
          if (name === 'start' || name === 'charge') assertRejected(answer as Outcome)
          else assertUnknown(answer, ['not_sent'])
        })
    })

    it('is requested once for several operations', async (t) => {
      const rig = await startRig(t, subject)
      const gateway = rig.open({ hasNoToken: true })
      const attempts = [1, 2, 3].map(() => rig.makeAttempt())
      const { requested } = await watch(rig, prelude, async () => {
        await Promise.all(attempts.map((attempt) => rig.start(attempt, gateway)))
        return gateway.verify(rig.makeAttempt(), null)
      })
      assert.equal(requested, 1)
    })

    it('is replaced once if the provider rejects it, and the operation is repeated', async (t) => {
      for (const { rig, name, act } of await prepareOperations(t, subject))
        await withFailureContext(name, async () => {
          assert.ok(rig.provider.rejectTokens, 'the fake provider has rejectTokens')
          rig.provider.rejectTokens()
          rig.ageTokens(TOKEN_AGE_MS)
          const { answer, requested } = await watch(rig, prelude, () => act(rig.gateway))
          assert.equal(requested, 1)
          assert.ok(answer && ['started', 'pending', 'succeeded'].includes(answer.kind), answer?.kind)
        })
    })
  })
}

const anyMethod = ({ path }: Prelude) => new RegExp(`^[A-Z]+ ${path.source.replace(/^\^/, '')}`)

/** The answer, the number of requests for a token, and the other requests. */
async function watch(rig: Rig, { path }: Prelude, act: () => Promise<Answer>) {
  const { requests } = rig.provider.server
  const before = requests.length
  const answer = await act()
  const made = requests.slice(before).map((request) => request.path)
  const submitted = made.filter((one) => !path.test(one))
  return { answer, submitted, requested: made.length - submitted.length }
}

/** Each operation of the gateway, ready to be called once. */
async function prepareOperations(t: TestContext, subject: Subject): Promise<Operation[]> {
  const checkout = await startRig(t, subject)
  const { attempt, reference } = await checkout.startNew()
  const operations: Operation[] = [
    { rig: checkout, name: 'start', act: (gateway) => checkout.start(checkout.makeAttempt(), gateway) },
    { rig: checkout, name: 'verify', act: (gateway) => gateway.verify(attempt, reference) },
  ]
  if (checkout.gateway.chargeSaved) {
    const { rig, credential, attempt: charged } = await prepareCharge(t, subject, 'approves')
    operations.push({ rig, name: 'charge', act: (gateway) => charge(gateway, charged, credential) })
  }
  if (checkout.gateway.refund) {
    const { rig, request } = await prepareRefund(t, subject)
    operations.push({ rig, name: 'refund', act: (gateway) => refund(gateway, request) })
  }
  // Where a callback ends refunds, their status check needs no token.
  if (checkout.gateway.verifyRefund && !checkout.provider.refundWebhook) {
    const { rig, request } = await prepareRefund(t, subject)
    const made = await refund(rig.gateway, request)
    const id = 'gatewayReference' in made ? made.gatewayReference : null
    const act = async (gateway: Gateway) => gateway.verifyRefund?.(request, id)
    operations.push({ rig, name: 'verifyRefund', act })
  }
  const { operations: withToken } = subject.prelude ?? {}
  return operations.filter(({ name }) => withToken?.includes(name) ?? true)
}
