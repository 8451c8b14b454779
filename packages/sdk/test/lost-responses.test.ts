// Responses that are lost in the middle: a proxy cuts them at any byte, after the service has executed the request. The SDK
// repeats the request, and the provider must have executed it once.

import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { after, describe, it } from 'node:test'
import { chargeBody, saveMethod } from '../../../test/support/builders.ts'
import { HAS_LARGER_FORM, sized } from '../../../test/support/scale.ts'
import { type TestServiceOptions, testService } from '../../../test/support/service.ts'
import { startTcpProxy } from '../../../test/support/tcp-proxy.ts'
import { Cowry } from '../src/index.ts'

const CHARGES = sized({ quick: 25, rest: 300, long: 10_000 })
const CLIENTS = sized({ quick: 5, rest: 20, long: 20 })
// Every fourth charge is refunded in part: only the generated Idempotency-Key protects that request.
const REFUND_EVERY = 4
// Every tenth request loses two responses in a row.
const LOSE_TWICE_EVERY = 10
/** Headers and body of a response are longer, so that every cut is in the middle. */
const RESPONSE_BYTES = 900

const NO_LIMIT: TestServiceOptions = { env: { COWRY_RATE_LIMIT: '0' } }
// The quick form has fewer requests than the rate limit, and shares a service with other files.
const service = await testService({ after }, sized({ quick: {}, rest: NO_LIMIT, long: NO_LIMIT }))
const { demoKey, url } = service
const port = Number(new URL(url).port)

/** A client whose next responses are cut, and how many were. */
async function startClient() {
  const proxy = await startTcpProxy({ after }, port)
  let cutsLeft = 0
  const cowry = new Cowry({
    apiKey: demoKey ?? '',
    baseUrl: `http://127.0.0.1:${proxy.port}`,
    fetch: (input, init) => {
      if (cutsLeft > 0) proxy.cutAfter(randomInt(RESPONSE_BYTES))
      cutsLeft -= 1
      return fetch(input, init)
    },
  })
  return {
    cowry,
    cuts: () => proxy.injected.cuts,
    cutNext(count: number) {
      cutsLeft = count
    },
  }
}

describe('lost responses', () => {
  it(`never doubles a charge or a refund over ${CHARGES} charges`, HAS_LARGER_FORM, async () => {
    const recurringToken = await saveMethod(service.api, 'card_success')
    const direct = new Cowry({ apiKey: demoKey ?? '', baseUrl: url })
    const numbers = Array.from({ length: CHARGES }, (_, index) => index).values()
    const totals = { cuts: 0, expected: 0 }
    const work = async () => {
      const { cowry, cutNext, cuts } = await startClient()
      const lose = (number: number) => {
        const count = number % LOSE_TWICE_EVERY === 0 ? 2 : 1
        totals.expected += count
        cutNext(count)
      }
      for (const number of numbers) {
        const body = { ...chargeBody(recurringToken), currency: 'KES' as const }
        lose(number)
        const charge = await cowry.charges.create(body)
        assert.deepEqual([charge.status, charge.reference], ['successful', body.reference])
        const isRefunded = number % REFUND_EVERY === 0
        if (isRefunded) {
          lose(number)
          await cowry.refunds.create({ paymentUuid: charge.uuid, amount: 10 })
        }
        const { data: executions } = await direct.sandbox.listExecutions({ reference: body.reference })
        const found = executions.map(({ kind, amount }) => `${kind} ${amount}`).toSorted()
        assert.deepEqual(found, isRefunded ? ['charge 100.00', 'refund 10.00'] : ['charge 100.00'])
      }
      totals.cuts += cuts()
    }
    await Promise.all(Array.from({ length: CLIENTS }, work))
    // The cuts really happened, in the middle of responses.
    assert.equal(totals.cuts, totals.expected)
  })
})
